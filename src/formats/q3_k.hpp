// Q3_K: 256 values in 110 bytes; 16 groups of 16, codes -4..3, 6-bit scales -32..31.
// Layout source: format notes section 4 + golden vectors deq/q3_K.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q3_K : BlockFormat<256, 16> {
    struct Block {
        uint8_t hmask[32]; // bit i/32 of byte i%32: set = the code is not lowered by 4
        uint8_t qs[64];
        uint8_t scales[12]; // 16 low nibbles in bytes 0..7, then 16 high 2-bit fields
        uint8_t d[2];
    };
    static int code(const Block &b, unsigned i) {
        const int high = (b.hmask[i % 32] >> (i / 32)) & 1;
        return crumb(b.qs, i) - (high ? 0 : 4);
    }
    static int scale(const Block &b, unsigned g) {
        const int low = g < 8 ? b.scales[g] & 15 : b.scales[g - 8] >> 4;
        const int high = (b.scales[8 + g % 4] >> (2 * (g / 4))) & 3;
        return (low | high << 4) - 32;
    }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
