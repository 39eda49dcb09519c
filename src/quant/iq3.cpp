// IQ3_XXS and IQ3_S: groups of 4 magnitudes are points of a codebook, signs per 8 beside them.
// Source: format notes section 6.5.
// SPDX-License-Identifier: MIT
#include "quant/grid.hpp"

#include <string.h>

namespace ggufx::quant {

namespace {

// Sub-block ib of 32; false when it counts as zero.
bool fit_block(GridBlock *b, const float *x, const float *qw, float sigma2, bool even,
               const Neighbours &grid) {
    if (qw) {
        imatrix_weights(b->w, x, qw, 32, sigma2);
    } else {
        for (int i = 0; i < 32; i++) b->w[i] = x[i] * x[i];
    }
    start_block(b, x, 32, even);
    const float max = block_max(*b);
    if (even ? max < 1e-8f : max == 0.0f) return false;
    if (even) {
        search_block(b, grid, max, {15, 0.2f, true, false});
    } else {
        search_block(b, grid, max, {9, 0.2f, false, true});
    }
    make_scale_positive(b, even);
    return true;
}

void encode_iq3_xxs_block(uint8_t *out, const float *x, const float *qw, const Neighbours &grid) {
    const float sigma2 = 2.0f * sum_squares(x, kSuper) / to_f32(kSuper);
    float scales[8], max_scale = 0.0f;
    uint32_t signs[8] = {};
    memset(out, 0, 98);
    for (int ib = 0; ib < 8; ib++) {
        GridBlock b;
        scales[ib] = 0.0f;
        if (!fit_block(&b, x + 32 * ib, qw ? qw + 32 * ib : nullptr, sigma2, true, grid)) continue;
        for (int k = 0; k < 8; k++)
            out[2 + 8 * ib + k] = low8(grid.index(grid.key(b.levels + 4 * k)));
        for (int k = 0; k < 4; k++) signs[ib] |= static_cast<uint32_t>(b.signs[k]) << (7 * k);
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    if (max_scale == 0.0f) {
        memset(out, 0, 98);
        return;
    }
    const float d = max_scale / 31.0f, id = 1.0f / d;
    store_f16(out, d * 1.0125f);
    for (int ib = 0; ib < 8; ib++)
        store_u32le(out + 66 + 4 * ib, signs[ib] | scale_code(id, scales[ib], 15) << 28);
}

void encode_iq3_s_block(uint8_t *out, const float *x, const float *qw, const Neighbours &grid) {
    const float sigma2 = 2.0f * sum_squares(x, kSuper) / to_f32(kSuper);
    float scales[8], max_scale = 0.0f;
    memset(out, 0, 110);
    // The reference skips a zero sub-block without moving on: grid bytes and signs of the following
    // ones stand too early, and such blocks decode wrong. Its bytes are what is asked for here.
    uint8_t *qs = out + 2, *signs = out + 74;
    for (int ib = 0; ib < 8; ib++) {
        GridBlock b;
        scales[ib] = 0.0f;
        if (!fit_block(&b, x + 32 * ib, qw ? qw + 32 * ib : nullptr, sigma2, false, grid)) continue;
        for (int k = 0; k < 8; k++) {
            const int index = grid.index(grid.key(b.levels + 4 * k));
            *qs++ = low8(index & 255);
            out[66 + ib] = low8(out[66 + ib] | index >> 8 << k);
        }
        for (int k = 0; k < 4; k++) *signs++ = b.signs[k];
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    if (max_scale == 0.0f) return; // what was found stays
    const float d = max_scale / 31.0f, id = 1.0f / d;
    store_f16(out, d * 1.033f);
    for (int ib = 0; ib < 8; ib += 2)
        out[106 + ib / 2] = static_cast<uint8_t>(scale_code(id, scales[ib], 15) |
                                                 scale_code(id, scales[ib + 1], 15) << 4);
}

} // namespace

void encode_iq3_xxs(uint8_t *out, const float *x, size_t n_blocks, const Context &c) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_iq3_xxs_block(out + 98 * b, x + kSuper * b, block_imatrix(c, b, kSuper), *c.grid);
}

void encode_iq3_s(uint8_t *out, const float *x, size_t n_blocks, const Context &c) {
    for (size_t b = 0; b < n_blocks; b++)
        encode_iq3_s_block(out + 110 * b, x + kSuper * b, block_imatrix(c, b, kSuper), *c.grid);
}

} // namespace ggufx::quant
