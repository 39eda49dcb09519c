// Q2_K: 256 values in 84 bytes; 16 groups of 16 with 4-bit scale and 4-bit minimum.
// Verified by the golden vectors deq/q2_K, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q2_K : BlockFormat<256, 16, Mins::kInteger> {
    struct Block {
        uint8_t scales[16];
        uint8_t qs[64];
        uint8_t d[2], dmin[2];
    };
    static constexpr Field code_at(unsigned i) { return {code2_of_128(offsetof(Block, qs), i)}; }
    static constexpr Field scale_at(unsigned g) { return {{offsetof(Block, scales) + g, 0, 4}}; }
    static constexpr Field min_at(unsigned g) { return {{offsetof(Block, scales) + g, 4, 4}}; }
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)); }
    static int scale(const Block &b, unsigned g) { return read(b, scale_at(g)); }
    static int min(const Block &b, unsigned g) { return read(b, min_at(g)); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
    static float dmin(const Block &b) { return load_f16(b.dmin); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
