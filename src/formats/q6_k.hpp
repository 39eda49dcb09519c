// Q6_K: 256 values in 210 bytes; 16 groups of 16, codes -32..31, int8 scales (-128 may occur).
// The f16 scale comes last.
// Layout source: format notes section 4 + golden vectors deq/q6_K.
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
    static int code(const Block &b, unsigned i) {
        const unsigned half = i / 128, quarter = (i / 32) % 4, l = i % 32;
        const int low = (b.ql[64 * half + 32 * (quarter % 2) + l] >> (4 * (quarter / 2))) & 15;
        const int high = (b.qh[32 * half + l] >> (2 * quarter)) & 3;
        return (low | high << 4) - 32;
    }
    static int scale(const Block &b, unsigned g) { return load_i8(b.scales + g); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
