// Q4_0: 32 values in 18 bytes; 4-bit codes minus 8 times one f16 scale.
// Verified by the golden vectors deq/q4_0, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q4_0 : BlockFormat<32, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[16];
    };
    static constexpr Field code_at(unsigned i) { return {nibble32(offsetof(Block, qs), i)}; }
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)) - 8; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
