// Q5_K: 256 values in 176 bytes; 8 groups of 32 with 6-bit scale and minimum; bit 4 of the
// codes of group g is bit g of qh, which comes before qs.
// Layout source: format notes section 4 + golden vectors deq/q5_K.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct Q5_K : BlockFormat<256, 32, Mins::kInteger> {
    struct Block {
        uint8_t d[2], dmin[2];
        uint8_t scales[12];
        uint8_t qh[32];
        uint8_t qs[128];
    };
    static int code(const Block &b, unsigned i) {
        const int high = (b.qh[i % 32] >> (i / 32)) & 1;
        return nibble256(b.qs, i) | high << 4;
    }
    static int scale(const Block &b, unsigned g) { return scale6(b.scales, g); }
    static int min(const Block &b, unsigned g) { return min6(b.scales, g); }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
    static float dmin(const Block &b) { return load_f16(b.dmin); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
