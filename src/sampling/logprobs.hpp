// Log-probabilities of tokens, and the most likely tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/rows.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::sampling {

class Logprobs {
public:
    // Takes n logits, none NaN or +infinity, at least one finite. Needs CanonicalFp.
    Logprobs(const kernels::RowKernels &rows, const float *logits, size_t n);
    // Returns logit - largest - log(sum of exp(logit - largest)), in binary64, rounded once.
    float of(float logit) const;

private:
    double largest_, log_total_;
};

// Returns log of the sum of exp(logits - largest), in binary64, ascending ids. Needs CanonicalFp.
double log_sum_exp(const kernels::RowKernels &rows, const float *logits, size_t n, float largest);

// Writes ids and logits of the k most likely of n, k <= n, by rank.
void find_likeliest(int32_t *out_ids, float *out_logits, size_t k, const float *logits, size_t n);

} // namespace ggufx::sampling
