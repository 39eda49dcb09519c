// Encoders of Q2_K .. Q6_K: fits the scales of sub-blocks, rounds them to a few bits, then
// recomputes the codes with the stored scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/encode_search.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr int kSuper = 256;

// Recomputes codes with the stored scale and minimum; a zero scale keeps those of the search.
inline void requantize(uint8_t *codes, const float *x, int n, float d, float m, int low, int high) {
    if (d == 0.0f) return;
    for (int i = 0; i < n; i++) codes[i] = low8(clamp(nearest((x[i] + m) / d), low, high) - low);
}

// ---- with minimums: Q2_K, Q4_K, Q5_K ----

// Scales and minimums of 16 or 8 sub-blocks; levels: the largest scale code.
struct Lines {
    int n_groups, group, levels;
    float scales[16], mins[16];
    uint8_t scale_codes[16], min_codes[16];
    float d, dmin; // f32, before rounding to f16
};

// Rounds scales or minimums relative to their largest (without imatrix).
inline float round_plain(uint8_t *codes, const float *values, int n, int levels) {
    float max = 0.0f;
    for (int k = 0; k < n; k++) max = values[k] > max ? values[k] : max;
    const float iscale = max > 0.0f ? to_f32(levels) / max : 0.0f;
    for (int k = 0; k < n; k++) codes[k] = low8(nearest(iscale * values[k]));
    return max > 0.0f ? max / to_f32(levels) : 0.0f;
}

inline void round_lines(Lines *l, const float *group_weights) {
    if (group_weights) {
        l->d = fit_positive(l->n_groups, l->levels, l->scales, l->scale_codes, group_weights);
        l->dmin = fit_positive(l->n_groups, l->levels, l->mins, l->min_codes, group_weights);
    } else {
        l->d = round_plain(l->scale_codes, l->scales, l->n_groups, l->levels);
        l->dmin = round_plain(l->min_codes, l->mins, l->n_groups, l->levels);
    }
}

// Fits the sub-blocks of one super-block.
inline void fit_lines(Lines *l, uint8_t *codes, const float *x, const float *qw, float sigma2,
                      const MinSearch &search, bool root_mean) {
    float w[kMaxGroup], group_weights[16];
    for (int k = 0; k < l->n_groups; k++) {
        const float *from = x + k * l->group;
        if (qw) {
            imatrix_weights(w, from, qw + k * l->group, l->group, sigma2);
            group_weights[k] = sum_of(w, l->group);
        } else {
            const float base =
                root_mean
                    ? sqrtf(sum_squares(from, static_cast<size_t>(l->group)) / to_f32(l->group))
                    : 0.0f;
            for (int i = 0; i < l->group; i++) w[i] = base + magnitude(from[i]);
        }
        l->scales[k] = fit_with_min(search, from, w, codes + k * l->group, &l->mins[k]);
    }
    round_lines(l, qw ? group_weights : nullptr);
}

inline MinSearch imatrix_search(int group, int n_max) {
    return {group, n_max, -0.9f, 0.05f, 36, false, true};
}

inline void encode_q2_k(fmt::Q2_K::Block &to, const float *x, const float *qw, const EncodeJob &) {
    uint8_t codes[kSuper];
    Lines l{};
    l.n_groups = 16, l.group = 16, l.levels = 15;
    const MinSearch search =
        qw ? imatrix_search(16, 3) : MinSearch{16, 3, -0.5f, 0.1f, 15, true, false};
    const float sigma2 = qw ? sum_squares(x, kSuper) / to_f32(kSuper) : 0.0f;
    fit_lines(&l, codes, x, qw, sigma2, search, false);
    const float d = store_f16(to.d, l.d), dmin = store_f16(to.dmin, l.dmin);
    for (unsigned k = 0; k < 16; k++) {
        to.scales[k] = low8(l.scale_codes[k] | l.min_codes[k] << 4);
        requantize(codes + 16 * k, x + 16 * k, 16, d * to_f32(fmt::Q2_K::scale(to, k)),
                   dmin * to_f32(fmt::Q2_K::min(to, k)), 0, 3);
    }
    put_codes<fmt::Q2_K>(to, codes);
}

// Encodes Q4_K and Q5_K: scales and minimums of 6 bits, codes 0 .. n_max.
template <class F>
void encode_lines6(typename F::Block &to, const float *x, const float *qw, int n_max,
                   const MinSearch &plain) {
    uint8_t codes[kSuper];
    Lines l{};
    l.n_groups = 8, l.group = 32, l.levels = 63;
    const MinSearch search = qw ? imatrix_search(32, n_max) : plain;
    const float sigma2 = qw ? 2.0f * sum_squares(x, kSuper) / to_f32(kSuper) : 0.0f;
    fit_lines(&l, codes, x, qw, sigma2, search, true);
    for (int k = 0; k < 8; k++) {
        l.scale_codes[k] = low8(at_most(l.scale_codes[k], 63));
        l.min_codes[k] = low8(at_most(l.min_codes[k], 63));
    }
    const float d = store_f16(to.d, l.d), dmin = store_f16(to.dmin, l.dmin);
    put_scales<F>(to, l.scale_codes);
    put_mins<F>(to, l.min_codes);
    for (int k = 0; k < 8; k++) {
        requantize(codes + 32 * k, x + 32 * k, 32, d * to_f32(l.scale_codes[k]),
                   dmin * to_f32(l.min_codes[k]), 0, n_max);
    }
    put_codes<F>(to, codes);
}
inline void encode_q4_k(fmt::Q4_K::Block &to, const float *x, const float *qw, const EncodeJob &) {
    encode_lines6<fmt::Q4_K>(to, x, qw, 15, {32, 15, -1.0f, 0.1f, 20, false, false});
}
inline void encode_q5_k(fmt::Q5_K::Block &to, const float *x, const float *qw, const EncodeJob &) {
    encode_lines6<fmt::Q5_K>(to, x, qw, 31, {32, 31, -0.5f, 0.1f, 15, false, false});
}

// ---- without minimums: Q3_K, Q6_K ----

// Rounds scales relative to the one of largest magnitude, with its sign; d is +0 if all are zero.
inline void round_q3_scales(uint8_t *codes, float *d, const float *scales,
                            const float *group_weights) {
    if (group_weights) {
        *d = fit_signed(16, 32, scales, codes, group_weights);
        return;
    }
    const float max = signed_largest(scales, 16);
    zero_codes(codes, 16);
    *d = 0.0f;
    if (max == 0.0f) return;
    const float iscale = -32.0f / max;
    for (int k = 0; k < 16; k++)
        codes[k] = low8(clamp(wrap8(nearest(iscale * scales[k])), -32, 31) + 32);
    *d = 1.0f / iscale;
}

inline void encode_q3_k(fmt::Q3_K::Block &to, const float *x, const float *qw, const EncodeJob &) {
    uint8_t codes[kSuper], scale_codes[16];
    float scales[16], group_weights[16], w[16], d32;
    const float sigma2 = qw ? 2.0f * sum_squares(x, kSuper) / to_f32(kSuper) : 0.0f;
    for (int k = 0; k < 16; k++) {
        if (qw) {
            imatrix_weights(w, x + 16 * k, qw + 16 * k, 16, sigma2);
            group_weights[k] = sum_of(w, 16);
            scales[k] = fit_signed(16, 4, x + 16 * k, codes + 16 * k, w);
        } else {
            scales[k] = fit_descent(16, 4, x + 16 * k, codes + 16 * k);
        }
    }
    round_q3_scales(scale_codes, &d32, scales, qw ? group_weights : nullptr);
    const float d = store_f16(to.d, d32);
    put_scales<fmt::Q3_K>(to, scale_codes);
    for (int k = 0; k < 16; k++) {
        requantize(codes + 16 * k, x + 16 * k, 16, d * to_f32(scale_codes[k] - 32), 0.0f, -4, 3);
    }
    put_codes<fmt::Q3_K>(to, codes);
}

inline void encode_q6_k(fmt::Q6_K::Block &to, const float *x, const float *qw, const EncodeJob &) {
    uint8_t codes[kSuper];
    float scales[16];
    for (int k = 0; k < 16; k++) {
        // The imatrix weights are used directly, without the square root of the other types.
        scales[k] = fit_signed(16, 32, x + 16 * k, codes + 16 * k, qw ? qw + 16 * k : nullptr);
    }
    const float max = signed_largest(scales, 16);
    if (magnitude(max) < kTiny) return; // all zero
    const float iscale = -128.0f / max;
    const float d = store_f16(to.d, 1.0f / iscale);
    for (int k = 0; k < 16; k++) {
        const int8_t code = wrap8(at_most(nearest(iscale * scales[k]), 127));
        to.scales[k] = low8(code);
        requantize(codes + 16 * k, x + 16 * k, 16, d * to_f32(code), 0.0f, -32, 31);
    }
    put_codes<fmt::Q6_K>(to, codes);
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
