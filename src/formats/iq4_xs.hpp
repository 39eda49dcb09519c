// IQ4_XS: 256 values in 136 bytes; 8 groups of 32, codebook of IQ4_NL, 6-bit scales -32..31.
// Layout source: format notes section 5 + golden vectors deq/iq4_xs.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ4_XS : BlockFormat<256, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t scales_h[2]; // u16: 8 x 2 high bits
        uint8_t scales_l[4]; // 8 x 4 low bits
        uint8_t qs[128];
    };
    static int code(const Block &b, unsigned i) {
        return kCodesIq4[nibble(b.qs + 16 * (i / 32), i % 32)];
    }
    static int scale(const Block &b, unsigned g) {
        const int low = (b.scales_l[g / 2] >> (4 * (g % 2))) & 15;
        const int high = (load_u16le(b.scales_h) >> (2 * g)) & 3;
        return (low | high << 4) - 32;
    }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
