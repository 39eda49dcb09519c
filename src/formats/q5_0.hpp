// Q5_0: 32 values in 22 bytes; 5-bit codes minus 16 times one f16 scale.
// Bit 4 of code i is bit i of the little-endian u32 qh.
// Verified by the golden vectors deq/q5_0, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q5_0 : BlockFormat<32, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qh[4];
        uint8_t qs[16];
    };
    static constexpr Field code_at(unsigned i) {
        return {nibble32(offsetof(Block, qs), i), bit_in_order(offsetof(Block, qh), i)};
    }
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)) - 16; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
