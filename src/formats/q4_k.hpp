// Q4_K: 256 values in 144 bytes; 8 groups of 32 with 6-bit scale and minimum.
// Verified by the golden vectors deq/q4_K, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q4_K : BlockFormat<256, 32, Mins::kInteger> {
    struct Block {
        uint8_t d[2], dmin[2];
        uint8_t scales[12];
        uint8_t qs[128];
    };
    static constexpr Field code_at(unsigned i) { return {nibble64(offsetof(Block, qs), i)}; }
    static constexpr Field scale_at(unsigned g) { return scale6(offsetof(Block, scales), g); }
    static constexpr Field min_at(unsigned g) { return min6(offsetof(Block, scales), g); }
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)); }
    static int scale(const Block &b, unsigned g) { return read(b, scale_at(g)); }
    static int min(const Block &b, unsigned g) { return read(b, min_at(g)); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
    static float dmin(const Block &b) { return load_f16(b.dmin); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
