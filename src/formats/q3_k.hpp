// Q3_K: 256 values in 110 bytes; 16 groups of 16, codes -4..3, 6-bit scales -32..31.
// Verified by the golden vectors deq/q3_K, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q3_K : BlockFormat<256, 16> {
    struct Block {
        uint8_t hmask[32]; // bit i/32 of byte i%32: set = 4 is not subtracted from the code
        uint8_t qs[64];
        uint8_t scales[12]; // 16 low nibbles in bytes 0..7, then 16 high 2-bit fields
        uint8_t d[2];
    };
    static constexpr Field code_at(unsigned i) {
        return {code2_of_128(offsetof(Block, qs), i), bit256(offsetof(Block, hmask), i)};
    }
    static constexpr Field scale_at(unsigned g) {
        constexpr size_t at = offsetof(Block, scales);
        return {{at + g % 8, 4 * (g / 8), 4}, {at + 8 + g % 4, 2 * (g / 4), 2}};
    }
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)) - 4; }
    static int scale(const Block &b, unsigned g) { return read(b, scale_at(g)) - 32; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
