// IQ4_XS: 256 values in 136 bytes; 8 groups of 32, codebook of IQ4_NL, 6-bit scales -32..31.
// Verified by the golden vectors deq/iq4_xs, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/grids.hpp"
#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct IQ4_XS : BlockFormat<256, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t scales_h[2]; // 8 x 2 high bits
        uint8_t scales_l[4]; // 8 x 4 low bits
        uint8_t qs[128];
    };
    static constexpr Field code_at(unsigned i) { return {nibble32(offsetof(Block, qs), i)}; }
    static constexpr Field scale_at(unsigned g) {
        return {nibble_in_order(offsetof(Block, scales_l), g),
                code2_in_order(offsetof(Block, scales_h), g)};
    }
    static int code(const Block &b, unsigned i) { return kCodesIq4[read(b, code_at(i))]; }
    static int scale(const Block &b, unsigned g) { return read(b, scale_at(g)) - 32; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
