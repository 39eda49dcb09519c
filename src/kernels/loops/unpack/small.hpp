// Types with 1-bit and 2-bit codes and trits: TQ1_0, TQ2_0, Q1_0, Q2_0.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/unpack/parts.hpp"

namespace ggufx::kernels::GGUFX_SET {
namespace {

// A trit is the top of a byte, which is then tripled: 5 trits of 32 bytes, 5 of 16 bytes, 4 of 4
// bytes.
template <> struct Unpack<fmt::TQ1_0> : PlainBlocks<Vec, fmt::TQ1_0, 1, 3, true> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const Block &block = block_at(b, i);
        const Half v = load_half(block.qs), v3 = triple(v), v9 = triple(v3), v27 = triple(v9);
        const Half first = with_triple(block.qs + 32), second = triple(triple(first));
        const Half third = triple(triple(second));
        c[0] = top_trits(v, triple(v27), i);
        c[1] = top_trits(v3, first, i);
        c[2] = top_trits(v9, second, i);
        c[3] = top_trits(v27, with_powers(third, block.qh), i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d<8>(b)}; }
};

// Four 2-bit planes in 32 bytes.
template <> struct Unpack<fmt::TQ2_0> : PlainBlocks<Vec, fmt::TQ2_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes<Vec>(c, load_codes(block_at(b, i).qs + in_half(i, 32), 32));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d<8>(b)}; }
};

// A bit is -1 or 1.
template <> struct Unpack<fmt::Q1_0> : PlainBlocks<Vec, fmt::Q1_0, 1, 3, true> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = add_bits < 1 + kOffset,
            kSigned ? 0xff : 0 > (zero_codes(), codes_at(b, i, j), far_codes());
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d<4>(b)};
    }
};

// Bytes of four adjacent 2-bit codes.
template <> struct Unpack<fmt::Q2_0> : PlainBlocks<Vec, fmt::Q2_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = load_2bit(codes_at(b, i, j), far_codes());
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d<2>(b)};
    }
};

} // namespace
} // namespace ggufx::kernels::GGUFX_SET
