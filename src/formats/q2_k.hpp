// Q2_K: 256 values in 84 bytes; 16 groups of 16 with 4-bit scale and 4-bit minimum.
// Layout source: format notes section 4 + golden vectors deq/q2_K.
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
    static int code(const Block &b, unsigned i) { return crumb(b.qs, i); }
    static int scale(const Block &b, unsigned g) { return b.scales[g] & 15; }
    static int min(const Block &b, unsigned g) { return b.scales[g] >> 4; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
    static float dmin(const Block &b) { return load_f16(b.dmin); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
