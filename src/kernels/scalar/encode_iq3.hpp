// Encoders of IQ3_XXS and IQ3_S: groups of 4 magnitudes are points of a codebook, with separate
// signs per 8.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/encode_grid.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

// Fits a sub-block of 32; returns false if it counts as zero.
inline bool fit_block(GridBlock *b, const float *x, const float *qw, float sigma2, bool even,
                      const GridLists &grid) {
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

inline void encode_iq3_xxs(fmt::IQ3_XXS::Block &to, const float *x, const float *qw,
                           const EncodeJob &job) {
    using F = fmt::IQ3_XXS;
    const GridLists &grid = *job.grid;
    const float sigma2 = 2.0f * sum_squares(x, kSuperBlock) / to_f32(kSuperBlock);
    float scales[8], max_scale = 0.0f;
    for (unsigned ib = 0; ib < 8; ib++) {
        GridBlock b;
        scales[ib] = 0.0f;
        if (!fit_block(&b, x + 32 * ib, qw ? qw + 32 * ib : nullptr, sigma2, true, grid)) continue;
        for (unsigned k = 0; k < 8; k++)
            put_index<F>(to, 8 * ib + k, grid_index(grid, grid_key(grid, b.levels + 4 * k)));
        for (unsigned k = 0; k < 4; k++) write(to, F::signs_at(4 * ib + k), b.signs[k]);
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    if (max_scale == 0.0f) {
        to = {};
        return;
    }
    const float d = max_scale / 31.0f, id = 1.0f / d;
    store_f16(to.d, d * 1.0125f);
    for (unsigned ib = 0; ib < 8; ib++)
        write(to, F::scale_at(ib), static_cast<int>(scale_code(id, scales[ib], 15)));
}

inline void encode_iq3_s(fmt::IQ3_S::Block &to, const float *x, const float *qw,
                         const EncodeJob &job) {
    using F = fmt::IQ3_S;
    const GridLists &grid = *job.grid;
    const float sigma2 = 2.0f * sum_squares(x, kSuperBlock) / to_f32(kSuperBlock);
    float scales[8], max_scale = 0.0f;
    // The reference skips a zero sub-block without advancing: grid bytes and signs of the following
    // ones are stored too early, and such blocks dequantize wrong. This encoder reproduces its
    // bytes.
    unsigned at = 0;
    for (unsigned ib = 0; ib < 8; ib++) {
        GridBlock b;
        scales[ib] = 0.0f;
        if (!fit_block(&b, x + 32 * ib, qw ? qw + 32 * ib : nullptr, sigma2, false, grid)) continue;
        for (unsigned k = 0; k < 8; k++) {
            const int index = grid_index(grid, grid_key(grid, b.levels + 4 * k));
            write(to, F::index_low_at(8 * at + k), index & 255);
            write(to, F::index_high_at(8 * ib + k), index >> 8);
        }
        for (unsigned k = 0; k < 4; k++) write(to, F::signs_at(4 * at + k), b.signs[k]);
        at++;
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    if (max_scale == 0.0f) return; // indices and signs stay
    const float d = max_scale / 31.0f, id = 1.0f / d;
    store_f16(to.d, d * 1.033f);
    for (unsigned ib = 0; ib < 8; ib++)
        write(to, F::scale_at(ib), static_cast<int>(scale_code(id, scales[ib], 15)));
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
