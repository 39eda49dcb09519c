// Encoders: f32 rows to the blocks of a tensor type, byte for byte as the reference does it.
// All sums are f32, sequential in the order of the values; no contraction, no libm but sqrtf.
// Source of every step: format notes sections 3, 4 and 6; golden vectors q/*.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::quant {

class Neighbours;
struct GridSpec;

// What an encoder is told beside the values.
struct Context {
    const float *imatrix;   // weight of each value's column, from the first value on; may be null
    float row_mean_square;  // of the whole row; only with an imatrix and where row_sum is set
    const Neighbours *grid; // where the encoder names one
};

struct Encoder {
    uint32_t type;
    uint32_t value_ps; // one value on one core, picoseconds: sizes of tasks, steps between polls
    bool needs_imatrix;
    bool row_sum;         // with an imatrix the weights look at the whole row
    const GridSpec *grid; // codebook, null for types without one
    // n_blocks whole blocks of finite values, all in one row.
    void (*run)(uint8_t *out, const float *x, size_t n_blocks, const Context &context);
};

// nullptr for types that have none: integers, F64, activation types, unknown ids.
const Encoder *encoder(uint32_t type);

} // namespace ggufx::quant
