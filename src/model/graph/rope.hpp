// Frequencies of a rotation: base, kind of scaling and divisors of a file. Formulas: docs/reproducibility/models.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/graph/keys.hpp"

namespace ggufx::model {

struct Rope {
    uint32_t dims = 0; // that turn, even
    double base = 10000;
    double scale = 1;     // frequencies are divided by it
    double attention = 1; // cos and sin times this, beside YaRN's own factor
    bool yarn = false;
    uint32_t original_context = 0;
    double beta_fast = 32, beta_slow = 1, log_multiplier = 0;
    bool same_multiplier = false; // the multiplier counts above and below the fraction (deepseek2)
    bool has_divisors = true;     // rope_freqs, rope_factors_*, where the file has them
    uint32_t divided_dims = 0;    // what they are for, the first dims of which turn; 0: dims
    bool operator==(const Rope &) const = default;

    // YaRN's 1 + 0.1 * multiplier * log(scale).
    double mscale(double multiplier) const;
    // What multiplies cos and sin.
    double factor() const;
    // Angle of each pair per position; divisors [dims / 2] or null.
    void frequencies(double *out, const float *divisors) const;
};

// By the keys of the model; `dims` turn. Throws Error: hparam, unsupported.
Rope read_rope(const Keys &keys, uint32_t dims);

} // namespace ggufx::model
