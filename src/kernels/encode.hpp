// Encoding blocks: f32 to the bytes that src/quant, which is the text, writes for them. What no
// set of a stack has is left to src/quant.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/format.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx {
namespace kernels {

// The codebook of an IQ1, IQ2 or IQ3 type: a key is the levels of 8 values in 2 bits each, or of 4 in
// 3 bits. At words[slots[key]] stand 0 and the index of the point with these levels, or the number
// and the keys of the points near them, nearest first. 16 words behind the last list may be read.
struct GridLists {
    const uint32_t *slots;
    const uint16_t *words;
    uint32_t first_key; // of the point with index 0
};

// Blocks in a row in memory: they may go on from one row of the matrix to the next.
struct EncodeJob {
    uint8_t *out;
    const float *x; // finite
    size_t n_blocks;
    const float *imatrix; // of one row, from its first column on; null: none
    size_t block;         // place in its row of the first block
    size_t row_blocks;    // blocks of a row
    float row_mean_square; // of the whole row, where src/quant's encoder asks for row_sum
    const GridLists *grid; // where src/quant's encoder names one
};

struct Encode {
    void (*run)(const EncodeJob &job);
    uint32_t value_ps; // one value on one core, picoseconds, with an imatrix where that is slower
    uint32_t lanes;    // blocks best taken together
    bool (*all_finite)(const float *x, size_t n) = nullptr; // the same in all entries
};
extern const Encode kAvx2Encode[fmt::kTypeIds], kAvx512Encode[fmt::kTypeIds],
    kNeonEncode[fmt::kTypeIds];

struct Kernels;
struct Layer;
// The best entry of a stack for a type, or null. *layer (may be null) says whose it is.
const Encode *find_encode(const Kernels &kernels, uint32_t type, const Layer **layer = nullptr);

} // namespace kernels
} // namespace ggufx
