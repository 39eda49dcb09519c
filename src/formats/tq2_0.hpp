// TQ2_0: 256 ternary values in 66 bytes; 2-bit codes minus 1 (code 3 decodes as +2); the f16
// scale comes last.
// Verified by the golden vectors deq/tq2_0, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct TQ2_0 : BlockFormat<256, 32> {
    struct Block {
        uint8_t qs[64];
        uint8_t d[2];
    };
    static constexpr Field code_at(unsigned i) { return {code2_of_128(offsetof(Block, qs), i)}; }
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)) - 1; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
