// SPDX-License-Identifier: MIT
#include "quantize/calibration.hpp"

#include "common/input_file.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ggufx::cli {

void declare_calibration(Command &sub, CalibrationOptions &o) {
    sub.option("--feedback", o.text,
               "calibration text: quantize layer by layer for the inputs that matrices get")
        .value("FILE");
    sub.option("--feedback-tokens", o.n_tokens, "use at most N tokens of the calibration text")
        .between(1, UINT64_MAX);
    sub.option("--ctx", o.n_context, "tokens per chunk of the calibration text")
        .between(4, UINT32_MAX);
    sub.option("--damping", o.damping,
               "share of the mean square that is added to the squares of the inputs (default: 0.1; "
               "0.3 for a short text)")
        .within(0, 100);
    sub.option("--passes", o.n_passes, "passes of the descent over all blocks").between(1, 100);
}

CalibrationText::CalibrationText(const ggufx_file *file, const CalibrationOptions &options) {
    const Tokenizer tokenizer = make_tokenizer(file);
    ids_ = tokenize(tokenizer.get(), read_utf8(options.text), GGUFX_TOKENIZE_ADD_SPECIAL);
    ids_.resize(std::min<uint64_t>(ids_.size(), options.n_tokens));
    if (ids_.size() < options.n_context)
        throw Failure(kUsage,
                      fmt::format("--feedback: {} has {} tokens, fewer than one chunk of {} "
                                  "(use a longer text, or --ctx)",
                                  escape(options.text), ids_.size(), options.n_context));
    options_ = sized<ggufx_quantizer_feedback>();
    options_.tokens = ids_.data();
    options_.n_tokens = ids_.size();
    options_.n_context = options.n_context;
    options_.n_passes = options.n_passes;
    const std::string damping = fmt::format("{}", options.damping); // 0.1, not the float next to it
    std::from_chars(damping.data(), damping.data() + damping.size(), options_.damping);
    options_.bos = first_id(tokenizer.get());
}

} // namespace ggufx::cli
