// Grid rows as two bytes of small level numbers each, for sets that look codes up by shuffles:
// half a table of values fits the registers.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx {
namespace fmt {

// Of a row of 8 values `first` has values 0..3 and `second` 4..7, two bits each from the lowest
// on. Of a row of 4 `first` has values 3 and 0, `second` 1 and 2, three bits each.
template <unsigned N> struct GridLevels { alignas(64) uint8_t first[N], second[N]; };

extern const GridLevels<256> kLevelsIq2Xxs;
extern const GridLevels<512> kLevelsIq2Xs;
extern const GridLevels<1024> kLevelsIq2S;
extern const GridLevels<256> kLevelsIq3Xxs;
extern const GridLevels<512> kLevelsIq3S;

} // namespace fmt
} // namespace ggufx
