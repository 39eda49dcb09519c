// Q4_1: 32 values in 20 bytes; 4-bit codes times a f16 scale plus a f16 minimum.
// Layout source: format notes section 3 + golden vectors deq/q4_1.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q4_1 : BlockFormat<32, 32, Mins::kFloat> {
    struct Block {
        uint8_t d[2], m[2];
        uint8_t qs[16];
    };
    static int code(const Block &b, unsigned i) { return nibble(b.qs, i); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
    static float m(const Block &b) { return load_f16(b.m); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
