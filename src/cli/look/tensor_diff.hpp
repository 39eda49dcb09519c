// How far the values of one tensor are from those of another; shared by diff and report.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/tensor_rows.hpp"

namespace ggufx::cli {

struct ValueDiff {
    uint64_t n = 0;           // values
    uint64_t n_different = 0; // of them, NaN differing from any number
    uint64_t n_invalid = 0;   // NaN or infinite on one side only, or of different sign
    double square_error = 0;  // sum of (b - a)^2 over the others
    double square = 0;        // sum of a^2
    double max_abs = 0;       // and the first place where it is
    uint64_t max_row = 0, max_column = 0;
    bool same_bytes = false; // not decoded then

    double rmse() const;
    double relative() const; // to the rms of a; infinite where a is all zero and b is not
};

// b against a, of the same shape; types may differ. Cancels after a signal.
ValueDiff tensor_diff(const ggufx_runtime *rt, const ggufx_tensor *a, const ggufx_tensor *b);

} // namespace ggufx::cli
