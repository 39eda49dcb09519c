// Logarithms of the probabilities of tokens, and the likeliest ones.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/rows.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::sampling {

class Logprobs {
public:
    // Of n logits, none NaN or +infinity, one finite. Needs CanonicalFp.
    Logprobs(const kernels::RowKernels &rows, const float *logits, size_t n);
    // logit - largest - log(sum of exp(logit - largest)), in binary64, rounded once.
    float of(float logit) const;

private:
    double largest_, log_total_;
};

// Ids and logits of the k likeliest of n, k <= n, by rank.
void find_likeliest(int32_t *out_ids, float *out_logits, size_t k, const float *logits, size_t n);

} // namespace ggufx::sampling
