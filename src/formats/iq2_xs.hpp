// IQ2_XS: 256 values in 74 bytes; 16 groups of 16 with 4-bit scales; each 8 values are a u16:
// 9 bits of grid index, 7 bits of sign index.
// Verified by the golden vectors deq/iq2_xs, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ2_XS : BlockFormat<256, 16> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[64]; // u16[32]
        uint8_t scales[8];
    };
    static constexpr Field index_low_at(unsigned k) { return byte(offsetof(Block, qs), 2 * k); }
    static constexpr Field index_high_at(unsigned k) {
        return {{offsetof(Block, qs) + 2 * k + 1, 0, 1}};
    }
    static constexpr Field signs_at(unsigned k) {
        return {{offsetof(Block, qs) + 2 * k + 1, 1, 7}};
    }
    static constexpr Field scale_at(unsigned g) {
        return {nibble_in_order(offsetof(Block, scales), g)};
    }
    // Reads whole words: a value needs its index and its signs together.
    static int code(const Block &b, unsigned i) {
        const unsigned word = load_u16le(b.qs + 2 * (i / 8)), j = i % 8;
        return with_sign(kGridIq2Xs.row[word & 511][j], kSigns7.byte[word >> 9], j);
    }
    static int scale(const Block &b, unsigned g) { return 2 * read(b, scale_at(g)) + 1; }
    static float d(const Block &b, unsigned = 0) { return 0.125f * load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
