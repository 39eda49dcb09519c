// TQ1_0: 256 ternary values in 54 bytes; five (in qh four) trits per byte as a fraction of
// 243, most significant first; the f16 scale comes last.
// Verified by the golden vectors deq/tq1_0, made with ggml (tests/golden/MANIFEST).
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
    // Base-3 digits have no bits of their own: a place is a byte and a digit index.
    struct Place {
        size_t byte;
        unsigned digit;
    };
    static constexpr Place digit_at(unsigned i) {
        if (i < 160) return {offsetof(Block, qs) + i % 32, i / 32};
        if (i < 240) return {offsetof(Block, qs) + 32 + (i - 160) % 16, (i - 160) / 16};
        return {offsetof(Block, qh) + (i - 240) % 4, (i - 240) / 4};
    }
    // byte * 3^digit modulo 256 moves the digit to the top, times 3 / 256 reads it.
    static int digit(const Block &b, unsigned i) {
        constexpr uint8_t kPow3[5] = {1, 3, 9, 27, 81};
        const Place at = digit_at(i);
        return static_cast<int>((((bytes_of(&b)[at.byte] * kPow3[at.digit]) & 255u) * 3u) >> 8);
    }
    static int code(const Block &b, unsigned i) { return digit(b, i) - 1; }
    static float d(const Block &b, unsigned = 0) { return load_f16(b.d); }
};

} // namespace
} // namespace fmt
} // namespace ggufx
