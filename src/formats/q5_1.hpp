// Q5_1: 32 values in 24 bytes; 5-bit codes times a f16 scale plus a f16 minimum.
// Bit 4 of code i is bit i of the little-endian u32 qh.
// Verified by the golden vectors deq/q5_1, made with ggml (tests/golden/MANIFEST).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q5_1 : BlockFormat<32, 32, Mins::kFloat> {
    struct Block {
        uint8_t d[2], m[2];
        uint8_t qh[4];
        uint8_t qs[16];
    };
    static constexpr Field code_at(unsigned i) {
        return {nibble32(offsetof(Block, qs), i), bit_in_order(offsetof(Block, qh), i)};
    }
    static int code(const Block &b, unsigned i) { return read(b, code_at(i)); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
    static float m(const Block &b) { return load_f16(b.m); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
