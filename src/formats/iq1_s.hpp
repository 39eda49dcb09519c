// IQ1_S: 256 values in 50 bytes; 8 groups of 32, each with a 3-bit scale and a common shift of
// +-1/8; a grid row of 8 ternary values has 11 index bits. Codes are 8 * (grid + shift).
// Verified by the golden vectors deq/iq1_s, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ1_S : BlockFormat<256, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[32]; // low 8 bits of the grid indices
        uint8_t qh[16]; // u16 per group: 4 x 3 high index bits, 3 bits of scale, shift sign
    };
    static constexpr Field index_low_at(unsigned k) { return byte(offsetof(Block, qs), k); }
    static constexpr Field index_high_at(unsigned k) {
        return bits_of_word(offsetof(Block, qh) + 2 * (k / 4), 3 * (k % 4), 3);
    }
    static constexpr Field scale_at(unsigned g) {
        return {{offsetof(Block, qh) + 2 * g + 1, 4, 3}};
    }
    static constexpr Field shift_at(unsigned g) {
        return {{offsetof(Block, qh) + 2 * g + 1, 7, 1}};
    } // 1: minus
    // Reads whole words: a value needs its index and its shift together.
    static int code(const Block &b, unsigned i) {
        const unsigned qh = load_u16le(b.qh + 2 * (i / 32));
        const unsigned high = (qh >> (3 * ((i / 8) % 4))) & 7;
        return 8 * kGridIq1.row[b.qs[i / 8] | high << 8][i % 8] + (qh & 0x8000u ? -1 : 1);
    }
    static int scale(const Block &b, unsigned g) { return 2 * read(b, scale_at(g)) + 1; }
    static float d(const Block &b, unsigned = 0) { return 0.125f * load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
