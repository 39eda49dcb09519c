// GGUFX_QUANTIZE_REFINED: reduces the error of the reference's blocks at the same size.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/fields.hpp"
#include "formats/format.hpp"
#include "kernels/encode.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::quant {

// Changes the block only if the sum of w * (x - dequantized)^2 becomes smaller; w null: weights of
// 1. The search minimizes this sum with weights w * (1 + x^2 / mean of x^2)^(1/2) under that
// condition. F32, F16 and BF16, and blocks with an infinite or NaN scale, stay unchanged. grid:
// neighbour lists of types with a codebook, else null.
using DecodeFn = void (*)(float *out, const uint8_t *blocks, size_t n_blocks);
void improve_block(uint8_t *block, const fmt::TypeInfo &type, const float *x, const float *w,
                   DecodeFn decode, const kernels::GridLists *grid);

// Returns the search time per value on a Zen 4 core in picoseconds, for the slowest type of a
// class. Decides the size of tasks.
uint64_t improve_ps(const fmt::TypeInfo &type);

// ---- layout of numbers in blocks ----

struct BlockLayout {
    uint32_t type;
    int n_values, n_groups;                   // group: values with one sub-scale
    int d = -1, dmin = -1;                    // byte offsets of f16 scales; -1: none
    int first_code = 0, n_codes = 0;          // values first_code, first_code + 1, ...
    const int8_t *levels = nullptr;           // if set, values of the codes, ascending
    const uint8_t *level_codes = nullptr;     // stored codes of `levels`; null: in order
    int first_scale = 0, n_scales = 0;        // sub-scales; n 0: none, factor 1
    float (*scale_value)(int code) = nullptr; // if set, replaces first_scale + code
    int n_mins = 0;                        // sub-minimums 0 .. n - 1; 0: none; 1: one with factor 1
    uint8_t flip_code = 0, flip_scale = 0; // XOR masks of stored bytes
    fmt::Field (*code_at)(unsigned value) = nullptr;
    fmt::Field (*scale_at)(unsigned group) = nullptr;
    fmt::Field (*min_at)(unsigned group) = nullptr;
};
// Returns null for types whose codes are not improved.
const BlockLayout *block_layout(uint32_t type);

// Searches codes, sub-scales and scales closer to x, weighted by w (null: 1). The caller checks
// that the error decreases.
void improve_codes(uint8_t *block, const BlockLayout &layout, const float *x, const float *w);

// ---- layout of numbers in blocks with a codebook: IQ1, IQ2, IQ3 ----

// Values of a block: d * unit * (2 * scale + 1) * (level + shift) * sign. The levels of a group of
// n_dims values are a point of the codebook.
constexpr int kGridValues = 256;

struct GridLayout {
    uint32_t type;
    int n_dims, sub; // values per group; values per scale
    float levels[8]; // dequantized levels, ascending
    float unit;
    int n_scales;
    int sign_bits; // per 8 values: 8, 7 (the number of minus signs is even) or 0
    int part;      // values per shift of +-1/8; without shifts, values per scale
    bool shifts;
    using Place = fmt::Field (*)(unsigned); // null if the format has no such number
    Place low_index, high_index;            // index: group
    Place signs;                            // index: 8 values
    Place scale;                            // index: sub-block
    Place shift;                            // index: part; 1: minus
};
// Returns null for types without a codebook.
const GridLayout *grid_layout(uint32_t type);

// The f16 scale d of the block; IQ1_M stores it in four parts.
uint16_t grid_scale(const uint8_t *block, uint32_t type);
void set_grid_scale(uint8_t *block, uint32_t type, uint16_t bits);

// Searches points, scales and shifts closer to x, weighted by w (null: 1). The caller checks that
// the error decreases.
void improve_points(uint8_t *block, const GridLayout &layout, const kernels::GridLists &grid,
                    const float *x, const float *w);

} // namespace ggufx::quant
