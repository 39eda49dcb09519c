// IQ4_NL and IQ4_XS: 32 values share a scale on a table of 16 levels; 15 candidates are tried.
// Source: format notes section 6.1.
// SPDX-License-Identifier: MIT
#include "formats/grids/grids.hpp"
#include "quant/blocks.hpp"
#include "quant/search.hpp"

namespace ggufx::quant {

namespace {

constexpr int kTries = 7, kGroup = 32;

float level(int code) {
    return to_f32(fmt::kCodesIq4[code]);
}

// The nearest level; halfway goes up.
int nearest_level(float v) {
    if (v <= level(0)) return 0;
    if (v >= level(15)) return 15;
    int below = 0, above = 15;
    while (above - below > 1) {
        const int middle = (below + above) / 2;
        if (v < level(middle)) {
            above = middle;
        } else {
            below = middle;
        }
    }
    return v - level(below) < level(above) - v ? below : above;
}

struct LevelSums {
    float qx = 0.0f, q2 = 0.0f;
};

LevelSums sums_with(const float *x, const float *w, float id) {
    LevelSums sums;
    for (int i = 0; i < kGroup; i++) {
        const float q = level(nearest_level(id * x[i]));
        sums.qx += w[i] * q * x[i];
        sums.q2 += w[i] * q * q;
    }
    return sums;
}

float fit_levels(const float *x, const float *w) {
    const float max = signed_largest(x, kGroup);
    if (magnitude(max) < kTiny) return 0.0f;
    LevelSums sums = sums_with(x, w, 1.0f / (-max / level(0)));
    float d = sums.q2 > 0.0f ? sums.qx / sums.q2 : 0.0f;
    float best = d * sums.qx;
    for (int t = -kTries; t <= kTries; t++) {
        sums = sums_with(x, w, (to_f32(t) + level(0)) / max);
        if (sums.q2 > 0.0f && sums.qx * sums.qx > best * sums.q2) {
            d = sums.qx / sums.q2;
            best = d * sums.qx;
        }
    }
    return d;
}

// Scales of the groups of a (super-)block of n values.
void fit_groups(float *scales, const float *x, const float *qw, int n) {
    float sigma2 = sum_squares(x, static_cast<size_t>(n));
    sigma2 *= 2.0f / to_f32(n);
    for (int k = 0; k < n / kGroup; k++) {
        const float *from = x + kGroup * k;
        float w[kGroup];
        if (qw) {
            imatrix_weights(w, from, qw + kGroup * k, kGroup, sigma2);
        } else {
            for (int i = 0; i < kGroup; i++) w[i] = from[i] * from[i];
        }
        scales[k] = fit_levels(from, w);
    }
}

void encode_group(uint8_t *qs, const float *x, float id) {
    uint8_t codes[kGroup];
    for (int i = 0; i < kGroup; i++) codes[i] = low8(nearest_level(id * x[i]));
    pack_nibbles(qs, codes);
}

void encode_iq4_xs_block(uint8_t *out, const float *x, const float *qw) {
    float scales[8];
    fit_groups(scales, x, qw, 256);
    const float d = -signed_largest(scales, 8) / 32.0f, id = inverse(d);
    store_f16(out, d);
    uint32_t high = 0, low = 0; // 2 and 4 bits of each of the 8 scales
    for (unsigned k = 0; k < 8; k++) {
        const int code = clamp(nearest(id * scales[k]), -32, 31);
        encode_group(out + 8 + 16 * k, x + 32 * k, inverse(d * to_f32(code)));
        const auto stored = static_cast<uint32_t>(code + 32);
        low |= (stored & 15) << (4 * k);
        high |= (stored >> 4) << (2 * k);
    }
    store_u16le(out + 2, static_cast<uint16_t>(high));
    store_u32le(out + 4, low);
}

} // namespace

void encode_iq4_nl(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++, out += 18, x += kGroup) {
        float scale;
        fit_groups(&scale, x, block_imatrix(context, b, kGroup), kGroup);
        store_f16(out, scale);
        encode_group(out + 2, x, inverse(scale));
    }
}

void encode_iq4_xs(uint8_t *out, const float *x, size_t n_blocks, const Context &context) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_iq4_xs_block(out + 136 * b, x + 256 * b, block_imatrix(context, b, 256));
}

} // namespace ggufx::quant
