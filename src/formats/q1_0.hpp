// Q1_0: 128 values in 18 bytes; one sign bit per value (set = +) and one f16 scale.
// Verified by the golden vectors deq/q1_0, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q1_0 : BlockFormat<128, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[16];
    };
    static constexpr Field code_at(unsigned i) { return {bit_in_order(offsetof(Block, qs), i)}; }
    static int code(const Block &b, unsigned i) { return 2 * read(b, code_at(i)) - 1; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
