// RoPE frequencies: base, scaling type and divisors of a file.
// Formulas: docs/reproducibility/models.md.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/keys.hpp"

namespace ggufx::model {

struct Rope {
    uint32_t dims = 0; // rotated dimensions, even
    double base = 10000;
    double scale = 1;     // frequencies are divided by it
    double attention = 1; // multiplies cos and sin, besides YaRN's own factor
    bool yarn = false;
    uint32_t original_context = 0;
    double beta_fast = 32, beta_slow = 1, log_multiplier = 0;
    bool same_multiplier = false; // the multiplier applies to numerator and denominator
                                  // (deepseek2)
    bool has_divisors = true;     // uses rope_freqs, rope_factors_*, where the file has them
    uint32_t divided_dims = 0;    // dimensions that the divisors cover; the first `dims` rotate; 0:
                                  // dims
    bool operator==(const Rope &) const = default;

    // Returns YaRN's 1 + 0.1 * multiplier * log(scale).
    double mscale(double multiplier) const;
    // Returns the factor of cos and sin.
    double factor() const;
    // Computes the angle of each pair per position; divisors [dims / 2] or null.
    void frequencies(double *out, const float *divisors) const;
};

// Reads RoPE from the keys of the model; `dims` rotate. Throws Error: hparam, unsupported.
Rope read_rope(const Keys &keys, uint32_t dims);

} // namespace ggufx::model
