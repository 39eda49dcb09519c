// Encoders of IQ2_XXS, IQ2_XS, IQ2_S: groups of 8 magnitudes are points of a codebook, with
// separate signs.
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

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
