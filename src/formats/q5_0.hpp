// Q5_0: 32 values in 22 bytes; 5-bit codes minus 16 times one f16 scale.
// Bit 4 of code i is bit i of the little-endian u32 qh.
// Layout source: format notes section 3 + golden vectors deq/q5_0.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q5_0 : BlockFormat<32, 32> {
    struct Block {
        uint8_t d[2];
        uint8_t qh[4];
        uint8_t qs[16];
    };
    static int code(const Block &b, unsigned i) {
        const int high = (b.qh[i / 8] >> (i % 8)) & 1;
        return (nibble(b.qs, i) | high << 4) - 16;
    }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
