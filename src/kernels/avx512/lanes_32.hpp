// Formats of lanes.hpp with 32-blocks: Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4, Q8_0.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/lanes.hpp"

namespace ggufx::kernels::avx512 {
namespace {

template <class U> GGUFX_INLINE void load_16_blocks(Vec::Vi (&v)[4], const typename U::Block *b) {
    Vec::load_columns(v, b->qs, sizeof *b);
}
// Base over F with plain low and high nibbles.
template <class Base> struct PlainNibbles : Base {
    static constexpr bool kInLanes = true;
    static GGUFX_INLINE void load_lanes(Vec::Vi (&c)[8], const typename Base::Block *b) {
        Vec::Vi v[4];
        load_16_blocks<Base>(v, b);
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) {
            c[t] = Vec::low_nibbles(v[t]);
            c[4 + t] = high_where_they_are(v[t]);
        }
    }
    static GGUFX_INLINE void sum_lanes(Vec::Vi (&u)[2], const Vec::Vi *c, const int8_t *q) {
        sum_nibbles<Base>(u, c, q);
        u[0] = Vec::add_i(u[0], u[1]);
    }
};
// Base with codes of whole bytes.
template <class Base> struct WholeCodes : Base {
    static constexpr bool kInLanes = true;
    static GGUFX_INLINE void sum_lanes(Vec::Vi (&u)[2], const Vec::Vi *c, const int8_t *q) {
        u[0] = Vec::add_i(Base::four_dots(c, q), Base::four_dots(c + 4, q + 256));
    }
};
// Fifth bits: the 32 of a block in its lane; spreads four at a time to four bytes.
template <class Base> struct FifthBits : WholeCodes<Base> {
    static GGUFX_INLINE void load_lanes(Vec::Vi (&c)[8], const typename Base::Block *b) {
        const __m512i four_bits = _mm512_setr_epi32(
            0, 0x10, 0x1000, 0x1010, 0x100000, 0x100010, 0x101000, 0x101010, 0x10000000, 0x10000010,
            0x10001000, 0x10001010, 0x10100000, 0x10100010, 0x10101000, 0x10101010);
        const Vec::Vi fifth =
            pick_words<sizeof *b, __builtin_offsetof(typename Base::Block, qh), 2>(b);
        Vec::Vi v[4];
        load_16_blocks<Base>(v, b);
#pragma GCC unroll 8
        for (unsigned t = 0; t < 8; t++) {
            const Vec::Vi bits =
                _mm512_permutexvar_epi32(_mm512_srli_epi32(fifth, 4 * t), four_bits);
            const Vec::Vi nibbles = t < 4 ? v[t] : _mm512_srli_epi16(v[t % 4], 4);
            c[t] =
                _mm512_ternarylogic_epi32(nibbles, _mm512_set1_epi8(15), bits, 0xea); // a & b | c
        }
    }
};
template <class Base, const int8_t *Table> struct TableNibbles : WholeCodes<Base> {
    static GGUFX_INLINE void load_lanes(Vec::Vi (&c)[8], const typename Base::Block *b) {
        Vec::Vi v[4];
        load_16_blocks<Base>(v, b);
        split(c, v);
    }
    static GGUFX_INLINE void split(Vec::Vi (&c)[8], const Vec::Vi (&v)[4]) {
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) {
            c[t] = Vec::look_up(Table, Vec::low_nibbles(v[t]), Base::kOffset);
            c[4 + t] = Vec::look_up(Table, Vec::high_nibbles(v[t]), Base::kOffset);
        }
    }
};

// Base with the scales of the format's own struct.
template <class F, class Base> struct OwnScales : Base {
    static GGUFX_INLINE typename Base::Scales load_scales(const typename Base::Block *b) {
        return __builtin_bit_cast(typename Base::Scales, Unpack<F>::load_scales(b));
    }
};

template <>
struct UnpackLanes<fmt::Q4_0>
    : OwnScales<fmt::Q4_0, PlainNibbles<PlainBlocks<BlockLaneVec, fmt::Q4_0, 8, 15>>> {};
template <>
struct UnpackLanes<fmt::Q4_1>
    : OwnScales<fmt::Q4_1, PlainNibbles<MinBlocks<BlockLaneVec, fmt::Q4_1, 15>>> {};
template <>
struct UnpackLanes<fmt::Q5_0>
    : OwnScales<fmt::Q5_0, FifthBits<PlainBlocks<BlockLaneVec, fmt::Q5_0, 16, 31>>> {};
template <>
struct UnpackLanes<fmt::Q5_1>
    : OwnScales<fmt::Q5_1, FifthBits<MinBlocks<BlockLaneVec, fmt::Q5_1, 31>>> {};
template <>
struct UnpackLanes<fmt::IQ4_NL>
    : OwnScales<fmt::IQ4_NL,
                TableNibbles<PlainBlocks<BlockLaneVec, fmt::IQ4_NL, 128, 241>, fmt::kCodesIq4>> {};
template <>
struct UnpackLanes<fmt::MXFP4>
    : OwnScales<fmt::MXFP4,
                TableNibbles<PlainBlocks<BlockLaneVec, fmt::MXFP4, 12, 24>, fmt::kCodesFp4>> {};

// Two blocks of 32 bytes in a register.
template <>
struct UnpackLanes<fmt::Q8_0>
    : OwnScales<fmt::Q8_0, PlainBlocks<LaneVec<HalfOrder>, fmt::Q8_0, 128, 255>> {
    static constexpr bool kInLanes = true;
    static GGUFX_INLINE void load_lanes(Vi (&c)[8], const Block *b) {
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            const Block *first = b + 8 * (i / 4) + i % 4;
            c[i] = two_of_32(load_half(first[0].qs), load_half(first[4].qs));
        }
        turn_fours(c[0], c[1], c[2], c[3]);
        turn_fours(c[4], c[5], c[6], c[7]);
#pragma GCC unroll 8
        for (auto &codes : c) codes = sub_codes(codes, -128);
    }
};

} // namespace
} // namespace ggufx::kernels::avx512
