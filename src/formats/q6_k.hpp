// Q6_K: 256 values in 210 bytes; 16 groups of 16, codes -32..31, int8 scales (-128 may occur).
// The f16 scale comes last.
// Verified by the golden vectors deq/q6_K, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q6_K : BlockFormat<256, 16> {
    struct Block {
        uint8_t ql[128];
        uint8_t qh[64];
        uint8_t scales[16];
        uint8_t d[2];
    };
    static constexpr Field code_at(unsigned i) { // values i and i + 64 of 128 in a byte of ql
        return {{offsetof(Block, ql) + 64 * (i / 128) + i % 64, 4 * (i / 64 % 2), 4},
                code2_of_128(offsetof(Block, qh), i)};
    }
    static constexpr Field scale_at(unsigned g) {
        return byte(offsetof(Block, scales), g);
    } // signed
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)) - 32; }
    static int scale(const Block &b, unsigned g) { return load_i8(b.scales + g); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
