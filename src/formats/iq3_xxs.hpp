// IQ3_XXS: 256 values in 98 bytes; 8 groups of 32, each eight grid rows of 4, four 7-bit sign
// indices and a 4-bit scale.
// Verified by the golden vectors deq/iq3_xxs, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ3_XXS : BlockFormat<256, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[64];  // grid index of each 4 values
        uint8_t gas[32]; // u32 per group: 4 x 7 sign bits (per 8 values), scale in the top 4
    };
    static constexpr Field index_low_at(unsigned k) { return byte(offsetof(Block, qs), k); }
    static constexpr Field signs_at(unsigned k) {
        return bits_of_word(offsetof(Block, gas) + 4 * (k / 4), 7 * (k % 4), 7);
    }
    static constexpr Field scale_at(unsigned g) {
        return {{offsetof(Block, gas) + 4 * g + 3, 4, 4}};
    }
    // Reads whole words: a value needs its index and its signs together.
    static int code(const Block &b, unsigned i) {
        const uint32_t word = load_u32le(b.gas + 4 * (i / 32));
        const unsigned signs = kSigns7.byte[(word >> (7 * ((i / 8) % 4))) & 127];
        return with_sign(kGridIq3Xxs.row[b.qs[i / 4]][i % 4], signs, i % 8);
    }
    static int scale(const Block &b, unsigned g) { return 2 * read(b, scale_at(g)) + 1; }
    static float d(const Block &b, unsigned = 0) { return 0.25f * load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
