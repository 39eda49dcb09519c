// Difference of the values of two tensors, for diff and report.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/tensor_rows.hpp"

namespace ggufx::cli {

struct ValueDiff {
    uint64_t n = 0;           // values
    uint64_t n_different = 0; // NaN equals NaN, and differs from any number
    uint64_t n_invalid = 0;   // NaN or infinite on one side only, or of different sign
    double square_error = 0;  // sum of (b - a)^2 over all other values
    double square = 0;        // sum of a^2
    double max_abs = 0;       // largest |b - a|, at the first such position:
    uint64_t max_row = 0, max_column = 0;
    bool same_bytes = false; // nothing was dequantized

    double rmse() const;
    double relative() const; // relative to the rms of a; infinite if a is all zero and b is not
};

// Compares b to a, both of the same shape; types may differ. Cancels after a signal.
ValueDiff tensor_diff(const ggufx_runtime *rt, const ggufx_tensor *a, const ggufx_tensor *b);

} // namespace ggufx::cli
