// Compile-time expansion of packed grid rows; used by grids/*.cpp only. A row is one number: level
// indices of W values, value j in bits [j*Bits, j*Bits + Bits).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/grids/levels.hpp"

namespace ggufx {
namespace fmt {
namespace {

template <unsigned W, unsigned Bits, unsigned N, unsigned L>
constexpr Grid<N, W> expand(const uint16_t (&packed)[N], const int8_t (&levels)[L]) {
    Grid<N, W> grid{};
    for (unsigned i = 0; i < N; i++) {
        for (unsigned j = 0; j < W; j++) {
            grid.row[i][j] = levels[(packed[i] >> (j * Bits)) & ((1u << Bits) - 1u)];
        }
    }
    return grid;
}

// Level indices without the values, for rows of 8 and of 4 values.
template <unsigned N> constexpr GridLevels<N> levels8(const uint16_t (&packed)[N]) {
    GridLevels<N> to{};
    for (unsigned i = 0; i < N; i++) {
        to.first[i] = static_cast<uint8_t>(packed[i] & 255u);
        to.second[i] = static_cast<uint8_t>(packed[i] >> 8);
    }
    return to;
}
template <unsigned N> constexpr GridLevels<N> levels4(const uint16_t (&packed)[N]) {
    GridLevels<N> to{};
    for (unsigned i = 0; i < N; i++) {
        const unsigned v = packed[i];
        to.first[i] = static_cast<uint8_t>((v & 7u) << 3 | (v >> 9 & 7u));
        to.second[i] = static_cast<uint8_t>((v >> 6 & 7u) << 3 | (v >> 3 & 7u));
    }
    return to;
}

} // namespace
} // namespace fmt
} // namespace ggufx
