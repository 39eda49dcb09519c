// Shared parts of the IQ2 and IQ3 encoders: magnitudes and signs of a group, and its best codebook
// points.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/encode_search.hpp"

#include <float.h>

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr int kSuperBlock = 256;

// Writes the magnitudes of 8 values. Bit j of the result is set if value j is negative.
inline uint8_t split_signs(float *xval, const float *x) {
    unsigned signs = 0;
    for (int j = 0; j < 8; j++) {
        const bool negative = !(x[j] >= 0.0f);
        xval[j] = negative ? -x[j] : x[j];
        if (negative) signs |= 1u << j;
    }
    return static_cast<uint8_t>(signs);
}

// Types with 7 sign bits store an even number of minus signs: the value with the least cost changes
// its sign.
inline uint8_t make_even(float *xval, const float *x, const float *w, uint8_t signs) {
    if (__builtin_popcount(signs) % 2 == 0) return signs & 127u;
    int cheapest = 0;
    float least = w[0] * x[0] * x[0];
    for (int j = 1; j < 8; j++) {
        const float cost = w[j] * x[j] * x[j];
        if (cost < least) {
            least = cost;
            cheapest = j;
        }
    }
    xval[cheapest] = -xval[cheapest];
    return static_cast<uint8_t>((signs ^ 1u << cheapest) & 127u);
}

// Chooses the listed point of least error; the first of equals.
inline void best_listed(uint8_t *levels, const GridLists &grid, unsigned key, const float *xval,
                        const float *w, float scale) {
    int n;
    const uint16_t *list = grid_list(grid, key, &n);
    float least = FLT_MAX;
    unsigned best = list[0];
    for (int k = 0; k < n; k++) {
        float error = 0.0f;
        for (int i = 0; i < grid.n_dims; i++) {
            const float diff = scale * to_f32(2 * grid_level(grid, list[k], i) + 1) - xval[i];
            error += w[i] * diff * diff;
        }
        if (error < least) {
            least = error;
            best = list[k];
        }
    }
    grid_levels(grid, levels, best);
}

// Chooses the levels of one group for a scale; id is its inverse. Returns true if the rounded
// levels were on the grid.
inline bool place_group(uint8_t *levels, const GridLists &grid, const float *xval,
                        const float *root_w, float id, float scale) {
    const int most = grid.n_dims == 8 ? 2 : 7;
    for (int i = 0; i < grid.n_dims; i++)
        levels[i] = low8(clamp(nearest(0.5f * (id * xval[i] - 1.0f)), 0, most));
    const unsigned key = grid_key(grid, levels);
    if (grid_index(grid, key) >= 0) return true;
    best_listed(levels, grid, key, xval, root_w, scale);
    return false;
}

struct GridSums {
    float qx = 0.0f, q2 = 0.0f;
};

inline GridSums grid_sums(const float *xval, const float *w, const uint8_t *levels, int n) {
    GridSums sums;
    for (int i = 0; i < n; i++) {
        const float q = to_f32(2 * levels[i] + 1);
        sums.qx += w[i] * xval[i] * q;
        sums.q2 += w[i] * q * q;
    }
    return sums;
}

// 16 or 32 values with one scale.
struct GridBlock {
    int n;
    float xval[32], w[32], root_w[32];
    uint8_t levels[32];
    uint8_t signs[4]; // sign bits of 8 values
    float scale;
};

// Initializes a block whose weights w are set. even: 7 sign bits.
inline void start_block(GridBlock *b, const float *x, int n, bool even) {
    b->n = n;
    b->scale = 0.0f;
    for (int i = 0; i < n; i++) {
        b->root_w[i] = sqrtf(b->w[i]);
        b->levels[i] = 0;
    }
    for (int k = 0; k < n / 8; k++) {
        b->signs[k] = split_signs(b->xval + 8 * k, x + 8 * k);
        if (even) b->signs[k] = make_even(b->xval + 8 * k, x + 8 * k, b->w + 8 * k, b->signs[k]);
    }
}

inline float block_max(const GridBlock &b) {
    float max = b.xval[0];
    for (int i = 1; i < b.n; i++) max = max > b.xval[i] ? max : b.xval[i];
    return max;
}

struct GridSearch {
    int steps;        // candidates -steps .. steps
    float step;       // step of the largest code
    bool on_at_first; // groups count as on the grid until a candidate is accepted
    bool redo_all;    // refine every group if one is off the grid
};

// Chooses the levels of all selected groups; bit k of the result: group k was off the grid.
inline unsigned place_block(GridBlock *b, uint8_t *levels, const GridLists &grid, float id,
                            float scale, unsigned which) {
    unsigned off = 0;
    const int dims = grid.n_dims;
    for (int k = 0; k < b->n / dims; k++) {
        if (!(which >> k & 1u)) continue;
        const int at = dims * k;
        if (!place_group(levels + at, grid, b->xval + at, b->root_w + at, id, scale))
            off |= 1u << k;
    }
    return off;
}

// Accepts the candidate if it fits better.
inline bool take_better(GridBlock *b, float *best, const uint8_t *levels) {
    const GridSums sums = grid_sums(b->xval, b->w, levels, b->n);
    if (!(sums.q2 > 0.0f && sums.qx * sums.qx > *best * sums.q2)) return false;
    b->scale = sums.qx / sums.q2;
    *best = b->scale * sums.qx;
    for (int i = 0; i < b->n; i++) b->levels[i] = levels[i];
    return true;
}

inline void refine(GridBlock *b, const GridLists &grid, unsigned which) {
    place_block(b, b->levels, grid, 1.0f / b->scale, b->scale, which);
    const GridSums sums = grid_sums(b->xval, b->w, b->levels, b->n);
    if (sums.q2 > 0.0f) b->scale = sums.qx / sums.q2;
}

inline void make_scale_positive(GridBlock *b, bool even) {
    if (!(b->scale < 0.0f)) return;
    b->scale = -b->scale;
    for (int k = 0; k < b->n / 8; k++)
        b->signs[k] = static_cast<uint8_t>(~b->signs[k] & (even ? 127 : 255));
}

// Searches scales around largest code / max: all types except IQ2_XXS.
inline void search_block(GridBlock *b, const GridLists &grid, float max, const GridSearch &s) {
    const int top = grid.n_dims == 8 ? 5 : 15; // 2 * largest level + 1
    const unsigned all = (1u << (b->n / grid.n_dims)) - 1u;
    unsigned off = s.on_at_first ? 0 : all;
    float best = 0.0f;
    b->scale = max / to_f32(top);
    for (int step = -s.steps; step <= s.steps; step++) {
        const float id = (to_f32(top) + to_f32(step) * s.step) / max, scale = 1.0f / id;
        uint8_t tried[32];
        const unsigned tried_off = place_block(b, tried, grid, id, scale, all);
        if (take_better(b, &best, tried)) off = tried_off;
    }
    if (off && b->scale > 0.0f) refine(b, grid, s.redo_all ? all : off);
}

// Returns the 4-bit code of a scale.
inline uint32_t scale_code(float id, float scale, int most) {
    return static_cast<uint32_t>(clamp(nearest(0.5f * (id * scale - 1.0f)), 0, most));
}

// Stores a codebook index in group k.
template <class F> void put_index(typename F::Block &to, unsigned k, int index) {
    write(to, F::index_low_at(k), index & 255);
    if constexpr (requires { F::index_high_at(k); }) write(to, F::index_high_at(k), index >> 8);
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
