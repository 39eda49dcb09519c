// Compile-time expansion of packed grid rows; used by grids/*.cpp alone.
// A row is one number: level indices of W values, value j in bits [j*Bits, j*Bits + Bits).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"

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

} // namespace
} // namespace fmt
} // namespace ggufx
