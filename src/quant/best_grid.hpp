// Where the numbers of IQ1, IQ2 and IQ3 blocks stand, and the search for better ones.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/fields.hpp"
#include "kernels/encode.hpp"

namespace ggufx::quant {

// value = d * unit * (2 * scale + 1) * (level + shift) * sign, 256 values. The levels of a group of
// n_dims values are a point of the codebook.
constexpr int kGridValues = 256;

struct GridLayout {
    uint32_t type;
    int n_dims, sub; // values of a group; values that share a scale
    float levels[8]; // ascending, as they are decoded
    float unit;
    int n_scales;
    int sign_bits; // of 8 values: 8, 7 (the number of minus signs is even) or 0
    int part;      // values that share a shift of +-1/8, else those that share a scale
    bool shifts;
    using Place = fmt::Field (*)(unsigned); // null where the format has no such number
    Place low_index, high_index;            // of a group
    Place signs;                            // of 8 values
    Place scale;                            // of a sub-block
    Place shift;                            // of a part; 1: minus
};
// Null for types without a codebook.
const GridLayout *grid_layout(uint32_t type);

// d: the f16 scale of the block; IQ1_M keeps it in pieces.
uint16_t grid_scale(const uint8_t *block, uint32_t type);
void set_grid_scale(uint8_t *block, uint32_t type, uint16_t bits);

// Makes points, scales and shifts that come nearer to x, weighted by w (null: 1). The caller checks
// that they do.
void improve_points(uint8_t *block, const GridLayout &layout, const kernels::GridLists &grid,
                    const float *x, const float *w);

} // namespace ggufx::quant
