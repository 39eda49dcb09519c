// IQ3_S: 256 values in 110 bytes; 8 groups of 32 with 4-bit scales; each 4 values have a 9-bit
// grid index, each 8 a full sign byte.
// Layout source: format notes section 5 + golden vectors deq/iq3_s.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ3_S : BlockFormat<256, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[64]; // low 8 bits of the grid indices
        uint8_t qh[8];  // their bit 8, eight each
        uint8_t signs[32];
        uint8_t scales[4];
    };
    static int code(const Block &b, unsigned i) {
        const unsigned k = i / 4;
        const unsigned high = (b.qh[k / 8] >> (k % 8)) & 1u;
        return with_sign(kGridIq3S.row[b.qs[k] | high << 8][i % 4], b.signs[i / 8], i % 8);
    }
    static int scale(const Block &b, unsigned g) {
        return 2 * ((b.scales[g / 2] >> (4 * (g % 2))) & 15) + 1;
    }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
