// Q8_0: 32 values in 34 bytes; int8 codes (-128 may occur) times one f16 scale.
// Verified by the golden vectors deq/q8_0, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q8_0 : BlockFormat<32, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qs[32];
    };
    static constexpr Field code_at(unsigned i) { return byte(offsetof(Block, qs), i); } // signed
    static int code(const Block &b, unsigned i) { return load_i8(b.qs + i); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
