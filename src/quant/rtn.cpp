// Round to nearest: floats, Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q1_0 Q2_0. Codes come from the f32 scale, not
// from the stored f16 one. Source: format notes section 3.
// SPDX-License-Identifier: MIT
#include "quant/blocks.hpp"
#include "quant/search.hpp"

#include <float.h>
#include <string.h>

namespace ggufx::quant {

namespace {

constexpr int kBlock = 32;

// Q4_0 and Q5_0 differ in n_max: 8 or 16 codes on either side of zero.
float signed_block(uint8_t *codes, const float *x, const float *qw, float sigma2, int n_max) {
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

// Q4_1 and Q5_1: codes 0 .. n_max.
Line line_block(uint8_t *codes, const float *x, const float *qw, float sigma2, int n_max) {
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
        // The reference limits the codes of Q4_1 alone; those of Q5_1 wrap as bytes.
        codes[i] = n_max == 15 ? low8(at_most(wrap8(code), n_max)) : low8(code);
    }
    return {d, min};
}

// Bit 4 of the codes: value i in bit i.
void pack_fifth_bits(uint8_t *qh, const uint8_t *codes) {
    uint32_t bits = 0;
    for (int i = 0; i < kBlock; i++) bits |= ((codes[i] & 16u) >> 4) << i;
    store_u32le(qh, bits);
}

} // namespace

void encode_f32(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    for (size_t i = 0; i < n_blocks; i++) store_f32le(out + 4 * i, x[i]);
}

void encode_f16(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    for (size_t i = 0; i < n_blocks; i++) store_u16le(out + 2 * i, f32_to_f16(x[i]));
}

void encode_bf16(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    for (size_t i = 0; i < n_blocks; i++) store_u16le(out + 2 * i, f32_to_bf16(x[i]));
}

void encode_q4_0(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++, out += 18, x += kBlock) {
        uint8_t codes[kBlock];
        const float *qw = block_imatrix(context, b, kBlock);
        store_f16(out, signed_block(codes, x, qw, context.row_mean_square, 8));
        pack_nibbles(out + 2, codes);
    }
}

void encode_q4_1(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++, out += 20, x += kBlock) {
        uint8_t codes[kBlock];
        const float *qw = block_imatrix(context, b, kBlock);
        const Line line = line_block(codes, x, qw, context.row_mean_square, 15);
        store_f16(out, line.d);
        store_f16(out + 2, line.min);
        pack_nibbles(out + 4, codes);
    }
}

void encode_q5_0(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++, out += 22, x += kBlock) {
        uint8_t codes[kBlock];
        const float *qw = block_imatrix(context, b, kBlock);
        store_f16(out, signed_block(codes, x, qw, context.row_mean_square, 16));
        pack_fifth_bits(out + 2, codes);
        pack_nibbles(out + 6, codes);
    }
}

void encode_q5_1(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++, out += 24, x += kBlock) {
        uint8_t codes[kBlock];
        const float *qw = block_imatrix(context, b, kBlock);
        const Line line = line_block(codes, x, qw, context.row_mean_square, 31);
        store_f16(out, line.d);
        store_f16(out + 2, line.min);
        pack_fifth_bits(out + 4, codes);
        pack_nibbles(out + 8, codes);
    }
}

void encode_q8_0(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    for (size_t b = 0; b < n_blocks; b++, out += 34, x += kBlock) {
        const float d = largest_magnitude(x, kBlock) / 127.0f, id = inverse(d);
        store_f16(out, d);
        for (int i = 0; i < kBlock; i++) out[2 + i] = low8(round_away(x[i] * id));
    }
}

// One bit per value: the sign; the scale is the mean magnitude.
void encode_q1_0(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    constexpr int kValues = 128;
    for (size_t b = 0; b < n_blocks; b++, out += 18, x += kValues) {
        float sum = 0.0f;
        memset(out + 2, 0, 16);
        for (int i = 0; i < kValues; i++) {
            sum += magnitude(x[i]);
            if (x[i] >= 0.0f) out[2 + i / 8] = low8(out[2 + i / 8] | 1 << (i % 8));
        }
        store_f16(out, sum / 128.0f);
    }
}

// Codes 0..2 stand for -1..1; 3 is never made.
void encode_q2_0(uint8_t *out, const float *x, size_t n_blocks, const Context &) {
    constexpr int kValues = 64;
    for (size_t b = 0; b < n_blocks; b++, out += 18, x += kValues) {
        const float d = largest_magnitude(x, kValues), id = inverse(d);
        store_f16(out, d);
        memset(out + 2, 0, 16);
        for (int i = 0; i < kValues; i++) {
            const int code = clamp(round_away(x[i] * id), -1, 2) + 1;
            out[2 + i / 4] = low8(out[2 + i / 4] | code << (2 * (i % 4)));
        }
    }
}

} // namespace ggufx::quant
