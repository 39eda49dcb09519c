// IQ3_XXS: 256 values in 98 bytes; 8 groups of 32, each eight grid rows of 4, four 7-bit sign
// indices and a 4-bit scale.
// Layout source: format notes section 5 + golden vectors deq/iq3_xxs.
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
    static int code(const Block &b, unsigned i) {
        const uint32_t word = load_u32le(b.gas + 4 * (i / 32));
        const unsigned signs = kSigns7.byte[(word >> (7 * ((i / 8) % 4))) & 127];
        return with_sign(kGridIq3Xxs.row[b.qs[i / 4]][i % 4], signs, i % 8);
    }
    static int scale(const Block &b, unsigned g) {
        return 2 * static_cast<int>(load_u32le(b.gas + 4 * g) >> 28) + 1;
    }
    static float d(const Block &b, unsigned = 0) { return 0.25f * load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
