// IQ2_S: 256 values in 82 bytes; 16 groups of 16 with 4-bit scales; each 8 values have a
// 10-bit grid index and a full sign byte.
// Layout source: format notes section 5 + golden vectors deq/iq2_s.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ2_S : BlockFormat<256, 16> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[32]; // low 8 bits of the grid indices
        uint8_t signs[32];
        uint8_t qh[8]; // high 2 bits of four grid indices each
        uint8_t scales[8];
    };
    static int code(const Block &b, unsigned i) {
        const unsigned k = i / 8, j = i % 8;
        const unsigned high = (b.qh[k / 4] >> (2 * (k % 4))) & 3u;
        return with_sign(kGridIq2S.row[b.qs[k] | high << 8][j], b.signs[k], j);
    }
    static int scale(const Block &b, unsigned g) {
        return 2 * ((b.scales[g / 2] >> (4 * (g % 2))) & 15) + 1;
    }
    static float d(const Block &b, unsigned = 0) { return 0.125f * load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
