// IQ3_S: 256 values in 110 bytes; 8 groups of 32 with 4-bit scales; each 4 values have a 9-bit
// grid index, each 8 a full sign byte.
// Verified by the golden vectors deq/iq3_s, made with ggml (tests/golden/MANIFEST).
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
        uint8_t qh[8];  // bit 8 of the grid indices, eight per byte
        uint8_t signs[32];
        uint8_t scales[4];
    };
    static constexpr Field index_low_at(unsigned k) { return byte(offsetof(Block, qs), k); }
    static constexpr Field index_high_at(unsigned k) {
        return {bit_in_order(offsetof(Block, qh), k)};
    }
    static constexpr Field signs_at(unsigned k) { return byte(offsetof(Block, signs), k); }
    static constexpr Field scale_at(unsigned g) {
        return {nibble_in_order(offsetof(Block, scales), g)};
    }
    static int code(const Block &b, unsigned i) {
        const unsigned k = i / 4;
        const int index = b.qs[k] | read(b, index_high_at(k)) << 8;
        return with_sign(kGridIq3S.row[index][i % 4], b.signs[i / 8], i % 8);
    }
    static int scale(const Block &b, unsigned g) { return 2 * read(b, scale_at(g)) + 1; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
