// TQ1_0: 256 ternary values in 54 bytes; five (in qh four) trits per byte as a fraction of
// 243, most significant first; the f16 scale comes last.
// Layout source: format notes section 3 + golden vectors deq/tq1_0.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"

namespace ggufx {
namespace fmt {
namespace {

struct TQ1_0 : BlockFormat<256, 32> {
    struct Block {
        uint8_t qs[48]; // values 0..159 in 32 bytes, 160..239 in 16
        uint8_t qh[4];  // values 240..255
        uint8_t d[2];
    };
    // Trit n of a byte: b * 3^n modulo 256 brings it to the top, times 3 / 256 reads it.
    static int trit(unsigned byte, unsigned n) {
        constexpr uint8_t kPow3[5] = {1, 3, 9, 27, 81};
        return static_cast<int>((((byte * kPow3[n]) & 255u) * 3u) >> 8);
    }
    static int code(const Block &b, unsigned i) {
        if (i < 160) return trit(b.qs[i % 32], i / 32) - 1;
        if (i < 240) return trit(b.qs[32 + (i - 160) % 16], (i - 160) / 16) - 1;
        return trit(b.qh[(i - 240) % 4], (i - 240) / 4) - 1;
    }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
