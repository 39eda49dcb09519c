// GGUFX_QUANTIZE_BEST: blocks of the reference made better at the same bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/fields.hpp"
#include "formats/format.hpp"
#include "kernels/encode.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx::quant {

// Changes the block only where the sum of w * (x - decoded)^2 becomes smaller; w null: 1. What is
// searched for is the least such sum with weights w * (1 + x^2 / mean of x^2)^(1/2), as far as that
// allows. Floats and blocks whose scale is infinite or NaN stay. grid: lists of the codebook of
// types that have one.
using DecodeFn = void (*)(float *out, const uint8_t *blocks, size_t n_blocks);
void improve_block(uint8_t *block, const fmt::TypeInfo &type, const float *x, const float *w,
                   DecodeFn decode, const kernels::GridLists *grid);

// One value on one Zen 4 core, the slowest of the kind: how long the tasks of a search take.
uint64_t improve_ps(const fmt::TypeInfo &type);

// ---- where numbers stand in blocks ----

struct BlockLayout {
    uint32_t type;
    int n_values, n_groups;                   // groups: of a sub-scale each
    int d = -1, dmin = -1;                    // bytes of f16 scales; -1: none
    int first_code = 0, n_codes = 0;          // values of codes: first_code, first_code + 1, ...
    const int8_t *levels = nullptr;           // instead: values of codes, ascending
    const uint8_t *level_codes = nullptr;     // of levels; null: in order
    int first_scale = 0, n_scales = 0;        // sub-scales; n 0: none, they count 1
    float (*scale_value)(int code) = nullptr; // instead of first_scale + code
    int n_mins = 0;                        // sub-minimums 0 .. n - 1; 0: none; 1: one that counts 1
    uint8_t flip_code = 0, flip_scale = 0; // bits of stored bytes that stand the other way round
    fmt::Field (*code_at)(unsigned value) = nullptr;
    fmt::Field (*scale_at)(unsigned group) = nullptr;
    fmt::Field (*min_at)(unsigned group) = nullptr;
};
// Null for types whose codes are not improved.
const BlockLayout *block_layout(uint32_t type);

// Makes codes, sub-scales and scales that come nearer to x, weighted by w (null: 1). The caller
// checks that they do.
void improve_codes(uint8_t *block, const BlockLayout &layout, const float *x, const float *w);

} // namespace ggufx::quant
