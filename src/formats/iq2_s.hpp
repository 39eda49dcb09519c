// IQ2_S: 256 values in 82 bytes; 16 groups of 16 with 4-bit scales; each 8 values have a
// 10-bit grid index and a full sign byte.
// Verified by the golden vectors deq/iq2_s, made with ggml (tests/golden/MANIFEST).
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
    static constexpr Field index_low_at(unsigned k) { return byte(offsetof(Block, qs), k); }
    static constexpr Field index_high_at(unsigned k) {
        return {code2_in_order(offsetof(Block, qh), k)};
    }
    static constexpr Field signs_at(unsigned k) { return byte(offsetof(Block, signs), k); }
    static constexpr Field scale_at(unsigned g) {
        return {nibble_in_order(offsetof(Block, scales), g)};
    }
    static int code(const Block &b, unsigned i) {
        const unsigned k = i / 8, j = i % 8;
        const int index = b.qs[k] | read(b, index_high_at(k)) << 8;
        return with_sign(kGridIq2S.row[index][j], b.signs[k], j);
    }
    static int scale(const Block &b, unsigned g) { return 2 * read(b, scale_at(g)) + 1; }
    static float d(const Block &b, unsigned = 0) { return 0.125f * load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
