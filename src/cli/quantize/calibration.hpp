// The calibration text of `ggufx quantize --feedback`.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/text_model.hpp"

namespace ggufx::cli {

struct CalibrationOptions {
    std::string text; // file; empty: none
    uint64_t n_tokens = 131072;
    uint32_t n_context = 512, n_passes = 4;
    float damping = 0; // 0: by the length of the text

    bool is_given() const { return !text.empty(); }
};
void declare_calibration(Command &sub, CalibrationOptions &options);

// Token ids of the text, whole chunks only.
class CalibrationText {
public:
    // Throws Failure (usage) for a text without a whole chunk.
    CalibrationText(const ggufx_file *file, const CalibrationOptions &options);
    const ggufx_quantizer_feedback &options() const { return options_; }

private:
    std::vector<int32_t> ids_;
    ggufx_quantizer_feedback options_ = {};
};

} // namespace ggufx::cli
