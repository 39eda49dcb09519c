// IQ1_M: 256 values in 56 bytes; 16 groups of 16 with 3-bit scales, a shift of +-1/8 per 8
// values. There is no scale field: the f16 d is spread over the top nibbles of four u16.
// Codes are 8 * (grid + shift).
// Verified by the golden vectors deq/iq1_m, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ1_M : BlockFormat<256, 16> {
    struct Block {
        uint8_t qs[32];    // low 8 bits of the grid indices
        uint8_t qh[16];    // per 8 values a nibble: 3 high index bits, shift sign
        uint8_t scales[8]; // u16[4], each 4 x 3 bits of scale and a nibble of d
    };
    static constexpr Field index_low_at(unsigned k) { return byte(offsetof(Block, qs), k); }
    static constexpr Field index_high_at(unsigned k) {
        return {{offsetof(Block, qh) + k / 2, 4 * (k % 2), 3}};
    }
    static constexpr Field scale_at(unsigned g) {
        return bits_of_word(offsetof(Block, scales) + 2 * (g / 4), 3 * (g % 4), 3);
    }
    static constexpr Field shift_at(unsigned k) { // 1: minus
        return {{offsetof(Block, qh) + k / 2, 4 * (k % 2) + 3, 1}};
    }
    static constexpr Field d_at(unsigned k) { // bits 4k .. 4k + 3 of the f16 scale
        return {{offsetof(Block, scales) + 2 * k + 1, 4, 4}};
    }
    // Reads whole words: a value needs its index and its shift together.
    static int code(const Block &b, unsigned i) {
        const unsigned k = i / 8;
        const unsigned high = (b.qh[k / 2] >> (4 * (k % 2))) & 15u;
        return 8 * kGridIq1.row[b.qs[k] | (high & 7u) << 8][i % 8] + (high & 8u ? -1 : 1);
    }
    static int scale(const Block &b, unsigned g) { return 2 * read(b, scale_at(g)) + 1; }
    static float d(const Block &b, unsigned = 0) {
        unsigned bits = 0;
        for (unsigned k = 0; k < 4; k++) {
            bits |= static_cast<unsigned>(load_u16le(b.scales + 2 * k) >> 12) << (4 * k);
        }
        return 0.125f * f16_to_f32(static_cast<uint16_t>(bits));
    }
};

} // namespace
} // namespace fmt
} // namespace ggufx
