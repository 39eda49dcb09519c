// Q2_K .. Q6_K: scales of sub-blocks are fitted, rounded to a few bits, and the codes are made
// anew with what a decoder will read. Source: format notes section 4.2.
// SPDX-License-Identifier: MIT
#include "quant/blocks.hpp"
#include "quant/search.hpp"

#include <string.h>

namespace ggufx::quant {

namespace {

constexpr int kSuper = 256;

// Codes with the stored scale and minimum; those of the search stay where the scale is zero.
void requantize(uint8_t *codes, const float *x, int n, float d, float m, int low, int high) {
    if (d == 0.0f) return;
    for (int i = 0; i < n; i++) codes[i] = low8(clamp(nearest((x[i] + m) / d), low, high) - low);
}

// The 2-bit fields of 256 values in 64 bytes.
void pack_crumbs(uint8_t *qs, const uint8_t *codes) {
    for (int byte = 0; byte < 64; byte++) {
        const uint8_t *from = codes + 128 * (byte / 32) + byte % 32;
        qs[byte] = low8(from[0] | from[32] << 2 | from[64] << 4 | from[96] << 6);
    }
}

// ---- with minimums: Q2_K, Q4_K, Q5_K ----

// 16 or 8 sub-blocks; levels: the largest scale code.
struct Lines {
    int n_groups, group, levels;
    float scales[16], mins[16];
    uint8_t scale_codes[16], min_codes[16];
    float d, dmin; // as f32, before they are stored
};

// Scales and mins over their largest (no imatrix).
float round_plain(uint8_t *codes, const float *values, int n, int levels) {
    float max = 0.0f;
    for (int k = 0; k < n; k++) max = values[k] > max ? values[k] : max;
    const float iscale = max > 0.0f ? to_f32(levels) / max : 0.0f;
    for (int k = 0; k < n; k++) codes[k] = low8(nearest(iscale * values[k]));
    return max > 0.0f ? max / to_f32(levels) : 0.0f;
}

void round_lines(Lines *l, const float *group_weights) {
    if (group_weights) {
        l->d = fit_positive(l->n_groups, l->levels, l->scales, l->scale_codes, group_weights);
        l->dmin = fit_positive(l->n_groups, l->levels, l->mins, l->min_codes, group_weights);
    } else {
        l->d = round_plain(l->scale_codes, l->scales, l->n_groups, l->levels);
        l->dmin = round_plain(l->min_codes, l->mins, l->n_groups, l->levels);
    }
}

// Fits the sub-blocks of one super-block.
void fit_lines(Lines *l, uint8_t *codes, const float *x, const float *qw, float sigma2,
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

MinSearch imatrix_search(int group, int n_max) {
    return {group, n_max, -0.9f, 0.05f, 36, false, true};
}

void encode_q2_k_block(uint8_t *out, const float *x, const float *qw) {
    uint8_t codes[kSuper];
    Lines l{};
    l.n_groups = 16, l.group = 16, l.levels = 15;
    const MinSearch search =
        qw ? imatrix_search(16, 3) : MinSearch{16, 3, -0.5f, 0.1f, 15, true, false};
    const float sigma2 = qw ? sum_squares(x, kSuper) / to_f32(kSuper) : 0.0f;
    fit_lines(&l, codes, x, qw, sigma2, search, false);
    const float d = store_f16(out + 80, l.d), dmin = store_f16(out + 82, l.dmin);
    for (int k = 0; k < 16; k++) {
        out[k] = low8(l.scale_codes[k] | l.min_codes[k] << 4);
        requantize(codes + 16 * k, x + 16 * k, 16, d * to_f32(out[k] & 15),
                   dmin * to_f32(out[k] >> 4), 0, 3);
    }
    pack_crumbs(out + 16, codes);
}

// 8 scales and 8 mins of 6 bits in 12 bytes.
void pack_scales6(uint8_t *s, const uint8_t *scales, const uint8_t *mins) {
    for (int k = 0; k < 4; k++) {
        s[k] = scales[k];
        s[k + 4] = mins[k];
    }
    for (int k = 4; k < 8; k++) {
        s[k + 4] = low8((scales[k] & 15) | (mins[k] & 15) << 4);
        s[k - 4] = low8(s[k - 4] | (scales[k] >> 4) << 6);
        s[k] = low8(s[k] | (mins[k] >> 4) << 6);
    }
}

// Fills d, dmin and the scales (16 bytes) and leaves the codes 0 .. n_max.
void encode_lines6(uint8_t *out, uint8_t *codes, const float *x, const float *qw, int n_max,
                   const MinSearch &plain) {
    Lines l{};
    l.n_groups = 8, l.group = 32, l.levels = 63;
    const MinSearch search = qw ? imatrix_search(32, n_max) : plain;
    const float sigma2 = qw ? 2.0f * sum_squares(x, kSuper) / to_f32(kSuper) : 0.0f;
    fit_lines(&l, codes, x, qw, sigma2, search, true);
    for (int k = 0; k < 8; k++) {
        l.scale_codes[k] = low8(at_most(l.scale_codes[k], 63));
        l.min_codes[k] = low8(at_most(l.min_codes[k], 63));
    }
    const float d = store_f16(out, l.d), dmin = store_f16(out + 2, l.dmin);
    pack_scales6(out + 4, l.scale_codes, l.min_codes);
    for (int k = 0; k < 8; k++) {
        requantize(codes + 32 * k, x + 32 * k, 32, d * to_f32(l.scale_codes[k]),
                   dmin * to_f32(l.min_codes[k]), 0, n_max);
    }
}

// The low 4 bits of 256 codes in 128 bytes.
void pack_nibbles256(uint8_t *qs, const uint8_t *codes) {
    for (int byte = 0; byte < 128; byte++) {
        const uint8_t *from = codes + 64 * (byte / 32) + byte % 32;
        qs[byte] = low8((from[0] & 15) | from[32] << 4);
    }
}

// ---- without: Q3_K, Q6_K ----

// The scale of largest magnitude with its sign, +0 when all are zero.
void round_q3_scales(uint8_t *codes, float *d, const float *scales, const float *group_weights) {
    if (group_weights) {
        *d = fit_signed(16, 32, scales, codes, group_weights);
        return;
    }
    const float max = signed_largest(scales, 16);
    memset(codes, 0, 16);
    *d = 0.0f;
    if (max == 0.0f) return;
    const float iscale = -32.0f / max;
    for (int k = 0; k < 16; k++)
        codes[k] = low8(clamp(wrap8(nearest(iscale * scales[k])), -32, 31) + 32);
    *d = 1.0f / iscale;
}

void pack_q3_scales(uint8_t *s, const uint8_t *codes) {
    memset(s, 0, 12);
    for (int k = 0; k < 16; k++) {
        s[k % 8] = low8(s[k % 8] | (codes[k] & 15) << (k < 8 ? 0 : 4));
        s[8 + k % 4] = low8(s[8 + k % 4] | (codes[k] >> 4 & 3) << (2 * (k / 4)));
    }
}

void encode_q3_k_block(uint8_t *out, const float *x, const float *qw) {
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
    const float d = store_f16(out + 108, d32);
    pack_q3_scales(out + 96, scale_codes);
    for (int k = 0; k < 16; k++) {
        requantize(codes + 16 * k, x + 16 * k, 16, d * to_f32(scale_codes[k] - 32), 0.0f, -4, 3);
    }
    memset(out, 0, 32); // third bits: value e in bit e / 32 of byte e % 32
    for (int e = 0; e < kSuper; e++) {
        if (codes[e] > 3) out[e % 32] = low8(out[e % 32] | 1 << (e / 32));
        codes[e] &= 3;
    }
    pack_crumbs(out + 32, codes);
}

void pack_q6(uint8_t *out, const uint8_t *codes) {
    for (int byte = 0; byte < 64; byte++) {
        const int half = byte / 32, l = byte % 32;
        const uint8_t *q = codes + 128 * half + l;
        out[64 * half + l] = low8((q[0] & 15) | (q[64] & 15) << 4);
        out[64 * half + 32 + l] = low8((q[32] & 15) | (q[96] & 15) << 4);
        out[128 + byte] =
            low8(q[0] >> 4 | (q[32] >> 4) << 2 | (q[64] >> 4) << 4 | (q[96] >> 4) << 6);
    }
}

void encode_q6_k_block(uint8_t *out, const float *x, const float *qw) {
    uint8_t codes[kSuper];
    float scales[16];
    for (int k = 0; k < 16; k++) {
        // The imatrix stands here as it is, without the root of the other types.
        scales[k] = fit_signed(16, 32, x + 16 * k, codes + 16 * k, qw ? qw + 16 * k : nullptr);
    }
    const float max = signed_largest(scales, 16);
    if (magnitude(max) < kTiny) {
        memset(out, 0, 210);
        return;
    }
    const float iscale = -128.0f / max;
    const float d = store_f16(out + 208, 1.0f / iscale);
    for (int k = 0; k < 16; k++) {
        const int8_t code = wrap8(at_most(nearest(iscale * scales[k]), 127));
        out[192 + k] = low8(code);
        requantize(codes + 16 * k, x + 16 * k, 16, d * to_f32(code), 0.0f, -32, 31);
    }
    pack_q6(out, codes);
}

} // namespace

void encode_q2_k(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_q2_k_block(out + 84 * b, x + kSuper * b, block_imatrix(context, b, kSuper));
}

void encode_q3_k(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_q3_k_block(out + 110 * b, x + kSuper * b, block_imatrix(context, b, kSuper));
}

void encode_q4_k(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++, out += 144, x += kSuper) {
        uint8_t codes[kSuper];
        const MinSearch plain = {32, 15, -1.0f, 0.1f, 20, false, false};
        encode_lines6(out, codes, x, block_imatrix(context, b, kSuper), 15, plain);
        pack_nibbles256(out + 16, codes);
    }
}

void encode_q5_k(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++, out += 176, x += kSuper) {
        uint8_t codes[kSuper];
        const MinSearch plain = {32, 31, -0.5f, 0.1f, 15, false, false};
        encode_lines6(out, codes, x, block_imatrix(context, b, kSuper), 31, plain);
        memset(out + 16, 0, 32); // fifth bits: value l of sub-block k in bit k of byte l
        for (int e = 0; e < kSuper; e++)
            out[16 + e % 32] = low8(out[16 + e % 32] | codes[e] >> 4 << (e / 32));
        pack_nibbles256(out + 48, codes);
    }
}

void encode_q6_k(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_q6_k_block(out + 210 * b, x + kSuper * b, block_imatrix(context, b, kSuper));
}

} // namespace ggufx::quant
