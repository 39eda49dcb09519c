// Encoders of IQ2_XXS, IQ2_XS, IQ2_S, IQ3_XXS and IQ3_S: groups of 8 (IQ2) or 4 (IQ3) magnitudes
// are points of a codebook, with separate signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/encode_grid.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

// Searches the scale of IQ2_XXS among multiples of a fit with 5 levels.
inline void search_xxs(GridBlock *b, const GridLists &grid) {
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

inline void encode_iq2_xxs(fmt::IQ2_XXS::Block &to, const float *x, const float *qw,
                           const EncodeJob &job) {
    using F = fmt::IQ2_XXS;
    const GridLists &grid = *job.grid;
    const float sigma2 = sum_squares(x, kSuperBlock) / to_f32(kSuperBlock);
    float scales[8], max_scale = 0.0f;
    for (unsigned ib = 0; ib < 8; ib++) {
        GridBlock b;
        imatrix_weights(b.w, x + 32 * ib, qw + 32 * ib, 32, sigma2);
        start_block(&b, x + 32 * ib, 32, true);
        scales[ib] = 0.0f;
        if (block_max(b) < kTiny) continue;
        search_xxs(&b, grid);
        if (b.scale == 0.0f) continue;
        for (unsigned k = 0; k < 4; k++) {
            put_index<F>(to, 4 * ib + k, grid_index(grid, grid_key(grid, b.levels + 8 * k)));
            write(to, F::signs_at(4 * ib + k), b.signs[k]);
        }
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    if (max_scale == 0.0f) {
        to = {};
        return;
    }
    const float d = max_scale / 31.0f, id = 1.0f / d;
    store_f16(to.d, d);
    for (unsigned ib = 0; ib < 8; ib++)
        write(to, F::scale_at(ib), static_cast<int>(scale_code(id, scales[ib], 15)));
}

struct TwoBit {
    bool even;  // 7 sign bits
    float tiny; // smaller sub-blocks count as zero
};

// Encodes the sub-blocks of 16 of IQ2_XS and IQ2_S without their scales. Returns the largest scale.
template <class F>
float encode_sub_blocks(typename F::Block &to, float *scales, const float *x, const float *qw,
                        float sigma2, const TwoBit &type, const GridLists &grid) {
    float max_scale = 0.0f;
    for (unsigned ib = 0; ib < 16; ib++) {
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
        for (unsigned k = 0; k < 2; k++) {
            put_index<F>(to, 2 * ib + k, grid_index(grid, grid_key(grid, b.levels + 8 * k)));
            write(to, F::signs_at(2 * ib + k), b.signs[k]);
        }
        scales[ib] = b.scale;
        max_scale = max_scale > b.scale ? max_scale : b.scale;
    }
    return max_scale;
}

// factor: multiplier of the stored scale.
template <class F>
void encode_two_bits(typename F::Block &to, const float *x, const float *qw, float sigma2,
                     const TwoBit &type, const GridLists &grid, float factor) {
    float scales[16];
    const float max = encode_sub_blocks<F>(to, scales, x, qw, sigma2, type, grid);
    if (max == 0.0f) {
        to = {};
        return;
    }
    const float d = max / 31.0f, id = 1.0f / d;
    store_f16(to.d, d * factor);
    for (unsigned ib = 0; ib < 16; ib++)
        write(to, F::scale_at(ib), static_cast<int>(scale_code(id, scales[ib], 15)));
}

inline void encode_iq2_xs(fmt::IQ2_XS::Block &to, const float *x, const float *qw,
                          const EncodeJob &job) {
    const float sigma2 = sum_squares(x, kSuperBlock) / to_f32(kSuperBlock);
    encode_two_bits<fmt::IQ2_XS>(to, x, qw, sigma2, {true, kTiny}, *job.grid, 1.0f);
}

inline void encode_iq2_s(fmt::IQ2_S::Block &to, const float *x, const float *qw,
                         const EncodeJob &job) {
    const float sigma2 = 2.0f * sum_squares(x, kSuperBlock) / to_f32(kSuperBlock);
    encode_two_bits<fmt::IQ2_S>(to, x, qw, sigma2, {false, 1e-8f}, *job.grid, 0.9875f);
}

// ---- IQ3 ----------------------------------------------------------------------------------------

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
