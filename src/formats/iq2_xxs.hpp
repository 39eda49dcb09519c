// IQ2_XXS: 256 values in 66 bytes; 8 groups of 32, each four grid rows of 8, four 7-bit sign
// indices and a 4-bit scale.
// Verified by the golden vectors deq/iq2_xxs, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ2_XXS : BlockFormat<256, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[64]; // per group: 4 grid indices, then u32: 4 x 7 sign bits, scale in the top 4
    };
    static constexpr Field index_low_at(unsigned k) {
        return byte(offsetof(Block, qs) + 8 * (k / 4), k % 4);
    }
    static constexpr Field signs_at(unsigned k) {
        return bits_of_word(offsetof(Block, qs) + 8 * (k / 4) + 4, 7 * (k % 4), 7);
    }
    static constexpr Field scale_at(unsigned g) {
        return {{offsetof(Block, qs) + 8 * g + 7, 4, 4}};
    }
    // Reads whole words: a value needs its index and its signs together.
    static int code(const Block &b, unsigned i) {
        const uint8_t *group = b.qs + 8 * (i / 32);
        const unsigned l = (i / 8) % 4, j = i % 8;
        const unsigned signs = kSigns7.byte[(load_u32le(group + 4) >> (7 * l)) & 127];
        return with_sign(kGridIq2Xxs.row[group[l]][j], signs, j);
    }
    static int scale(const Block &b, unsigned g) { return 2 * read(b, scale_at(g)) + 1; }
    static float d(const Block &b, unsigned = 0) { return 0.125f * load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
