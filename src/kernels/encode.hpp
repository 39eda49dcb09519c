// Quantization of blocks: f32 to the bytes of a tensor type, as the reference quantizer writes
// them. scalar/ is the definition; the kernels of every set give the same bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/format.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx {
namespace kernels {

enum class Codebook : uint8_t { none, iq1, iq2_xxs, iq2_xs, iq2_s, iq3_xxs, iq3_s };

// A codebook of points of n_dims levels: 8 levels of 2 bits, or 4 of 3. A key is the levels of a
// group, packed in as many bits each. words[slots[key]] is 0 and the index of the point with these
// levels, or the number and the keys of the nearest points, nearest first. 16 words after the last
// list may be read.
struct GridLists {
    const uint32_t *slots;
    const uint16_t *words;
    uint32_t first_key; // key of the point with index 0
    int n_dims;
};

// Consecutive blocks in memory; they may continue in the next row of the matrix.
struct EncodeJob {
    uint8_t *out;
    const float *x; // finite
    size_t n_blocks;
    const float *imatrix;  // weights of one row, from its first column; null: none
    size_t block;          // index of the first block in its row
    size_t row_blocks;     // blocks per row
    float row_mean_square; // mean of x^2 of the row; set if needs.row_sum and imatrix
    const GridLists *grid; // set if the encoder has a codebook
};

// Inputs of an encoder besides the values.
struct EncodeNeeds {
    bool imatrix = false; // cannot encode without an imatrix
    bool row_sum = false; // weights of an imatrix depend on the whole row: one row per job
    Codebook codebook = Codebook::none;
};

struct Encode {
    void (*run)(const EncodeJob &job);
    uint32_t value_ps; // picoseconds per value on one core, with an imatrix if that is slower
    uint32_t lanes;    // preferred number of blocks per call
    EncodeNeeds needs; // the same for a type in all sets
    bool (*all_finite)(const float *x, size_t n); // the same in all entries of a set
};

namespace {

// Inputs by type id.
template <uint32_t Id> constexpr EncodeNeeds kEncodeNeeds = {};
template <> constexpr EncodeNeeds kEncodeNeeds<fmt::id::Q4_0> = {.row_sum = true};
template <> constexpr EncodeNeeds kEncodeNeeds<fmt::id::Q4_1> = {.row_sum = true};
template <> constexpr EncodeNeeds kEncodeNeeds<fmt::id::Q5_0> = {.row_sum = true};
template <> constexpr EncodeNeeds kEncodeNeeds<fmt::id::Q5_1> = {.row_sum = true};
template <>
constexpr EncodeNeeds kEncodeNeeds<fmt::id::IQ1_S> = {.imatrix = true, .codebook = Codebook::iq1};
template <> constexpr EncodeNeeds kEncodeNeeds<fmt::id::IQ1_M> = {.codebook = Codebook::iq1};
template <>
constexpr EncodeNeeds kEncodeNeeds<fmt::id::IQ2_XXS> = {.imatrix = true,
                                                        .codebook = Codebook::iq2_xxs};
template <>
constexpr EncodeNeeds kEncodeNeeds<fmt::id::IQ2_XS> = {.imatrix = true,
                                                       .codebook = Codebook::iq2_xs};
template <> constexpr EncodeNeeds kEncodeNeeds<fmt::id::IQ2_S> = {.codebook = Codebook::iq2_s};
template <> constexpr EncodeNeeds kEncodeNeeds<fmt::id::IQ3_XXS> = {.codebook = Codebook::iq3_xxs};
template <> constexpr EncodeNeeds kEncodeNeeds<fmt::id::IQ3_S> = {.codebook = Codebook::iq3_s};

// ---- keys of a codebook -------------------------------------------------------------------------

inline int level_bits(const GridLists &grid) {
    return grid.n_dims == 8 ? 2 : 3;
}
inline unsigned grid_key(const GridLists &grid, const uint8_t *levels) {
    unsigned key = 0;
    for (int i = 0; i < grid.n_dims; i++)
        key |= static_cast<unsigned>(levels[i]) << (level_bits(grid) * i);
    return key;
}
inline uint8_t grid_level(const GridLists &grid, unsigned key, int i) {
    const int bits = level_bits(grid);
    return static_cast<uint8_t>(key >> (bits * i) & ((1u << bits) - 1u));
}
inline void grid_levels(const GridLists &grid, uint8_t *levels, unsigned key) {
    for (int i = 0; i < grid.n_dims; i++) levels[i] = grid_level(grid, key, i);
}
// Returns the index of the point, or -1 if the key is not on the grid.
inline int grid_index(const GridLists &grid, unsigned key) {
    const uint16_t *entry = grid.words + grid.slots[key];
    return entry[0] == 0 ? entry[1] : -1;
}
// Returns the list of a key that is not on the grid: n > 0 keys of points.
inline const uint16_t *grid_list(const GridLists &grid, unsigned key, int *n) {
    const uint16_t *entry = grid.words + grid.slots[key];
    *n = entry[0];
    return entry + 1;
}

} // namespace
} // namespace kernels
} // namespace ggufx
