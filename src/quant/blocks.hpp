// What the encoder files share: their entry points and the weights of an imatrix.
// SPDX-License-Identifier: MIT
#pragma once

#include "quant/encoder.hpp"
#include "quant/round.hpp"

namespace ggufx::quant {

using EncodeFn = void(uint8_t *out, const float *x, size_t n_blocks, const Context &context);

EncodeFn encode_f32, encode_f16, encode_bf16;
EncodeFn encode_q4_0, encode_q4_1, encode_q5_0, encode_q5_1, encode_q8_0, encode_q1_0, encode_q2_0;
EncodeFn encode_mxfp4, encode_nvfp4, encode_tq1_0, encode_tq2_0;
EncodeFn encode_q2_k, encode_q3_k, encode_q4_k, encode_q5_k, encode_q6_k;
EncodeFn encode_iq4_nl, encode_iq4_xs;
EncodeFn encode_iq2_xxs, encode_iq2_xs, encode_iq2_s, encode_iq3_xxs, encode_iq3_s;
EncodeFn encode_iq1_s, encode_iq1_m;

namespace {

// The imatrix of block b, null without one.
inline const float *block_imatrix(const Context &context, size_t b, size_t block_values) {
    return context.imatrix ? context.imatrix + b * block_values : nullptr;
}

// w = qw * sqrt(sigma2 + x^2): an important column weighs more where its value is large.
inline void imatrix_weights(float *w, const float *x, const float *qw, int n, float sigma2) {
    for (int i = 0; i < n; i++) w[i] = qw[i] * sqrtf(sigma2 + x[i] * x[i]);
}

inline float sum_of(const float *w, int n) {
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += w[i];
    return sum;
}

// Value i of 32 in the low nibbles, i + 16 in the high ones.
inline void pack_nibbles(uint8_t *qs, const uint8_t *codes) {
    for (int i = 0; i < 16; i++) qs[i] = low8((codes[i] & 15) | codes[i + 16] << 4);
}

} // namespace
} // namespace ggufx::quant
