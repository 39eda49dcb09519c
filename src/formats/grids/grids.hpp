// Codebooks of the IQ and fp4 types: the only large tables, each defined once in grids/*.cpp.
// Row number = index in the block's bits; value j of a row = element j of the group.
// Source: the format's published tables; the golden suite compares every entry.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx {
namespace fmt {

// N rows of W values; a row of 8 (4) is one aligned 64-bit (32-bit) load.
template <unsigned N, unsigned W> struct Grid { alignas(64) int8_t row[N][W]; };

struct SignTable {
    alignas(64) uint8_t byte[128];
};

extern const Grid<256, 8> kGridIq2Xxs; // 8, 25, 43
extern const Grid<512, 8> kGridIq2Xs;  // 8, 25, 43
extern const Grid<1024, 8> kGridIq2S;  // 8, 25, 43
extern const Grid<2048, 8> kGridIq1;   // -1, 0, 1: IQ1_S and IQ1_M
extern const Grid<256, 4> kGridIq3Xxs; // 4, 12, 20, 28, 36, 44, 52, 62
extern const Grid<512, 4> kGridIq3S;   // 1, 3, ... 15

// 7-bit sign index -> 8 sign bits, bit j set = element j negative; bit 7 makes their number even.
extern const SignTable kSigns7;

extern const int8_t kCodesIq4[16]; // IQ4_NL, IQ4_XS
extern const int8_t kCodesFp4[16]; // MXFP4, NVFP4: e2m1 times two; code 8 is 0, not -0

} // namespace fmt
} // namespace ggufx
