// Blocks of 32 values with one d: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0. As in all files here, unqualified
// names come from the vec.hpp and codes.hpp of the set.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/unpack/parts.hpp"

namespace ggufx::kernels::GGUFX_SET {
namespace {

template <> struct Unpack<fmt::Q4_0> : PlainBlocks<Vec, fmt::Q4_0, 8, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_all_nibbles<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d(b)}; }
};

template <> struct Unpack<fmt::Q4_1> : MinBlocks<Vec, fmt::Q4_1, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_all_nibbles<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return gather_d_and_m<Scales>(b); }
};

template <> struct Unpack<fmt::Q5_0> : PlainBlocks<Vec, fmt::Q5_0, 16, 31, true> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_all_nibbles<Unpack>(c, b, i);
        constexpr int minus = kSigned ? 0xf0 : 0;
        add_fifth_bits<Unpack, kSigned ? 0 : 16, minus>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d(b)}; }
};

template <> struct Unpack<fmt::Q5_1> : MinBlocks<Vec, fmt::Q5_1, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_all_nibbles<Unpack>(c, b, i);
        add_fifth_bits<Unpack, 16, 0>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return gather_d_and_m<Scales>(b); }
};

template <> struct Unpack<fmt::Q8_0> : PlainBlocks<Vec, fmt::Q8_0, 128, 255, true> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const V8 v = load_codes(codes_at(b, i, j), far_codes());
            c[j] = kSigned ? v : sub_codes(v, -128); // signed: -128 is safe because |q| <= 127
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace ggufx::kernels::GGUFX_SET
