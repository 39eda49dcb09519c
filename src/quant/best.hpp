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

} // namespace ggufx::quant
