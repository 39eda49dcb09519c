// Grid rows as two bytes of small level indices each, for instruction sets that look up codes by
// shuffles: half a table of values fits the registers.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx {
namespace fmt {

// A row of 8 values has values 0..3 in `first` and 4..7 in `second`, two bits each from the lowest
// on. A row of 4 has values 3 and 0 in `first`, 1 and 2 in `second`, three bits each.
template <unsigned N> struct GridLevels { alignas(64) uint8_t first[N], second[N]; };

extern const GridLevels<256> kLevelsIq2Xxs;
extern const GridLevels<512> kLevelsIq2Xs;
extern const GridLevels<1024> kLevelsIq2S;
extern const GridLevels<256> kLevelsIq3Xxs;
extern const GridLevels<512> kLevelsIq3S;

} // namespace fmt
} // namespace ggufx
