// IQ2_XXS, IQ2_XS, IQ2_S: groups of 8 magnitudes are points of a codebook, signs beside them.
// Source: format notes sections 6.3 and 6.4.
// SPDX-License-Identifier: MIT
#include "quant/grid.hpp"
#include "quant/search.hpp"

#include <string.h>

namespace ggufx::quant {

namespace {

// IQ2_XXS looks for its scale among multiples of a fit with 5 levels.
void search_xxs(GridBlock *b, const Neighbours &grid) {
    constexpr unsigned kAll = 15;
    b->scale = fit_positive(32, 4, b->xval, b->levels, b->w);
    const float reach = b->scale * 3.0f;
    if (!(reach > 0.0f)) {
        b->scale = 0.0f;
        return;
    }
    float best = 0.0f;
    for (int step = -6; step <= 6; step++) {
        const float id = (5.0f + to_f32(step) * 0.1f) / reach, scale = 1.0f / id;
        uint8_t tried[32];
        place_block(b, tried, grid, id, scale, kAll);
        take_better(b, &best, tried);
    }
    if (b->scale > 0.0f) refine(b, grid, kAll);
    make_scale_positive(b, true);
}

void encode_iq2_xxs_block(uint8_t *out, const float *x, const float *qw, const Neighbours &grid) {
    const float sigma2 = sum_squares(x, kSuper) / to_f32(kSuper);
    float scales[8], max_scale = 0.0f;
    uint32_t signs[8] = {};
    memset(out, 0, 66);
    for (int ib = 0; ib < 8; ib++) {
        GridBlock b;
        imatrix_weights(b.w, x + 32 * ib, qw + 32 * ib, 32, sigma2);
        start_block(&b, x + 32 * ib, 32, true);
        scales[ib] = 0.0f;
        if (block_max(b) < kTiny) continue;
        search_xxs(&b, grid);
        if (b.scale == 0.0f) continue;
        for (int k = 0; k < 4; k++) {
            out[2 + 8 * ib + k] = low8(grid.index(grid.key(b.levels + 8 * k)));
            signs[ib] |= static_cast<uint32_t>(b.signs[k]) << (7 * k);
        }
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    if (max_scale == 0.0f) {
        memset(out, 0, 66);
        return;
    }
    const float d = max_scale / 31.0f, id = 1.0f / d;
    store_f16(out, d);
    for (int ib = 0; ib < 8; ib++)
        store_u32le(out + 2 + 8 * ib + 4, signs[ib] | scale_code(id, scales[ib], 15) << 28);
}

struct TwoBit {
    bool even;  // 7 sign bits
    float tiny; // below this a sub-block counts as zero
};

// Sub-blocks of 16 of IQ2_XS and IQ2_S, stored through put(group, index, signs).
// Returns the largest scale.
template <class Put>
float encode_sub_blocks(float *scales, const float *x, const float *qw, float sigma2,
                        const TwoBit &type, const Neighbours &grid, Put put) {
    float max_scale = 0.0f;
    for (int ib = 0; ib < 16; ib++) {
        const float *from = x + 16 * ib;
        GridBlock b;
        if (qw) {
            imatrix_weights(b.w, from, qw + 16 * ib, 16, sigma2);
        } else {
            for (int i = 0; i < 16; i++) b.w[i] = 0.25f * sigma2 + from[i] * from[i];
        }
        start_block(&b, from, 16, type.even);
        scales[ib] = 0.0f;
        const float max = block_max(b);
        if (max < type.tiny) continue;
        search_block(&b, grid, max, {9, 0.1f, true, false});
        make_scale_positive(&b, type.even);
        for (int k = 0; k < 2; k++)
            put(2 * ib + k, static_cast<uint32_t>(grid.index(grid.key(b.levels + 8 * k))),
                b.signs[k]);
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    return max_scale;
}

void put_scales(uint8_t *out, const float *scales, float d) {
    const float id = 1.0f / d;
    for (int ib = 0; ib < 16; ib++)
        out[ib / 2] =
            low8(out[ib / 2] | static_cast<int>(scale_code(id, scales[ib], 15)) << (4 * (ib % 2)));
}

void encode_iq2_xs_block(uint8_t *out, const float *x, const float *qw, const Neighbours &grid) {
    const float sigma2 = sum_squares(x, kSuper) / to_f32(kSuper);
    float scales[16];
    memset(out, 0, 74);
    const auto put = [out](int group, uint32_t index, uint32_t signs) {
        store_u16le(out + 2 + 2 * group, static_cast<uint16_t>(index | signs << 9));
    };
    const float max = encode_sub_blocks(scales, x, qw, sigma2, {true, kTiny}, grid, put);
    if (max == 0.0f) {
        memset(out, 0, 74);
        return;
    }
    const float d = max / 31.0f;
    store_f16(out, d);
    put_scales(out + 66, scales, d);
}

void encode_iq2_s_block(uint8_t *out, const float *x, const float *qw, const Neighbours &grid) {
    const float sigma2 = 2.0f * sum_squares(x, kSuper) / to_f32(kSuper);
    float scales[16];
    memset(out, 0, 82);
    const auto put = [out](int group, uint32_t index, uint32_t signs) {
        out[2 + group] = static_cast<uint8_t>(index & 255u);
        out[34 + group] = static_cast<uint8_t>(signs);
        uint8_t *high = out + 66 + group / 4;
        *high = static_cast<uint8_t>(*high | index >> 8 << (2 * (group % 4)));
    };
    const float max = encode_sub_blocks(scales, x, qw, sigma2, {false, 1e-8f}, grid, put);
    if (max == 0.0f) {
        memset(out, 0, 82);
        return;
    }
    const float d = max / 31.0f;
    store_f16(out, d * 0.9875f);
    put_scales(out + 74, scales, d);
}

} // namespace

void encode_iq2_xxs(uint8_t *out, const float *x, size_t n_blocks, const Context &c) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_iq2_xxs_block(out + 66 * b, x + kSuper * b, block_imatrix(c, b, kSuper), *c.grid);
}

void encode_iq2_xs(uint8_t *out, const float *x, size_t n_blocks, const Context &c) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_iq2_xs_block(out + 74 * b, x + kSuper * b, block_imatrix(c, b, kSuper), *c.grid);
}

void encode_iq2_s(uint8_t *out, const float *x, size_t n_blocks, const Context &c) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_iq2_s_block(out + 82 * b, x + kSuper * b, block_imatrix(c, b, kSuper), *c.grid);
}

} // namespace ggufx::quant
