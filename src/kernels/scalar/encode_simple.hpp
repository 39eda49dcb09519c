// Encoders that round to nearest: floats, Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q1_0 Q2_0. Codes are computed
// from the f32 scale instead of the stored f16 scale.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/encode_search.hpp"

#include <float.h>

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr int kBlock = 32;

// Encodes Q4_0 and Q5_0; n_max: 8 or 16 codes on each side of zero.
inline float signed_block(uint8_t *codes, const float *x, const float *qw, float sigma2,
                          int n_max) {
    if (qw) {
        float w[kBlock];
        imatrix_weights(w, x, qw, kBlock, sigma2);
        return fit_signed(kBlock, n_max, x, codes, w);
    }
    const float d = signed_largest(x, kBlock) / to_f32(-n_max);
    const float id = inverse(d), shift = to_f32(n_max) + 0.5f;
    for (int i = 0; i < kBlock; i++)
        codes[i] = low8(at_most(wrap8(to_int(x[i] * id + shift)), 2 * n_max - 1));
    return d;
}

struct Line {
    float d, min; // value = d * code + min
};

// Encodes Q4_1 and Q5_1: codes 0 .. n_max.
inline Line line_block(uint8_t *codes, const float *x, const float *qw, float sigma2, int n_max) {
    if (qw) {
        float w[kBlock], min;
        imatrix_weights(w, x, qw, kBlock, sigma2);
        const MinSearch search = {kBlock, n_max, -0.9f, 0.05f, 36, false, true};
        const float d = fit_with_min(search, x, w, codes, &min);
        return {d, -min};
    }
    float min = FLT_MAX, max = -FLT_MAX;
    for (int i = 0; i < kBlock; i++) {
        if (x[i] < min) min = x[i];
        if (x[i] > max) max = x[i];
    }
    const float d = (max - min) / to_f32(n_max), id = inverse(d);
    for (int i = 0; i < kBlock; i++) {
        const int32_t code = to_int((x[i] - min) * id + 0.5f);
        // The reference clamps only the codes of Q4_1; those of Q5_1 wrap as bytes.
        codes[i] = n_max == 15 ? low8(at_most(wrap8(code), n_max)) : low8(code);
    }
    return {d, min};
}

template <class F, int NMax>
void encode_signed(typename F::Block &to, const float *x, const float *qw, const EncodeJob &job) {
    uint8_t codes[kBlock];
    store_f16(to.d, signed_block(codes, x, qw, job.row_mean_square, NMax));
    put_codes<F>(to, codes);
}
template <class F, int NMax>
void encode_line(typename F::Block &to, const float *x, const float *qw, const EncodeJob &job) {
    uint8_t codes[kBlock];
    const Line line = line_block(codes, x, qw, job.row_mean_square, NMax);
    store_f16(to.d, line.d);
    store_f16(to.m, line.min);
    put_codes<F>(to, codes);
}

inline void encode_q8_0(fmt::Q8_0::Block &to, const float *x, const float *, const EncodeJob &) {
    const float d = largest_magnitude(x, kBlock) / 127.0f, id = inverse(d);
    store_f16(to.d, d);
    for (int i = 0; i < kBlock; i++) to.qs[i] = low8(round_away(x[i] * id));
}

// One sign bit per value; the scale is the mean magnitude.
inline void encode_q1_0(fmt::Q1_0::Block &to, const float *x, const float *, const EncodeJob &) {
    float sum = 0.0f;
    for (unsigned i = 0; i < fmt::Q1_0::kValues; i++) {
        sum += magnitude(x[i]);
        write(to, fmt::Q1_0::code_at(i), x[i] >= 0.0f);
    }
    store_f16(to.d, sum / 128.0f);
}

// Codes 0..2 represent -1..1; 3 is never stored.
inline void encode_q2_0(fmt::Q2_0::Block &to, const float *x, const float *, const EncodeJob &) {
    constexpr int kValues = fmt::Q2_0::kValues;
    const float d = largest_magnitude(x, kValues), id = inverse(d);
    store_f16(to.d, d);
    for (unsigned i = 0; i < kValues; i++)
        write(to, fmt::Q2_0::code_at(i), clamp(round_away(x[i] * id), -1, 2) + 1);
}

inline void encode_f32(fmt::F32::Block &to, const float *x, const float *, const EncodeJob &) {
    store_f32le(to.v, *x);
}
inline void encode_f16(fmt::F16::Block &to, const float *x, const float *, const EncodeJob &) {
    store_u16le(to.v, f32_to_f16(*x));
}
inline void encode_bf16(fmt::BF16::Block &to, const float *x, const float *, const EncodeJob &) {
    store_u16le(to.v, f32_to_bf16(*x));
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
