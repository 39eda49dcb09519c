// Q2_0: 64 values in 18 bytes; 2-bit codes minus 1 (code 3 decodes as +2), one f16 scale.
// Verified by the golden vectors deq/q2_0, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q2_0 : BlockFormat<64, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[16]; // four consecutive codes per byte, the first in the lowest bits
    };
    static constexpr Field code_at(unsigned i) { return {code2_in_order(offsetof(Block, qs), i)}; }
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)) - 1; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
