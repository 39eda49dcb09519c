// Layout of the numbers in IQ1, IQ2 and IQ3 blocks, and the search for better ones.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/fields.hpp"
#include "kernels/encode.hpp"

namespace ggufx::quant {

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
