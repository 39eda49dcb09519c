// Formats of lanes.hpp with 32-blocks: Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4, Q8_0.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/lanes.hpp"

namespace ggufx::kernels::avx512 {
namespace {

// Words of a block in its lane, or in the same lane of two halves of a register.
template <unsigned Lane, unsigned Apart> struct BlockWords {
    static constexpr unsigned word(unsigned b, unsigned i) {
        return Lane * BlockOrder::sum(b) + Apart * i;
    }
};
using WordsInLanes = BlockWords<2, 1>;
using WordsInHalves = BlockWords<1, 16>;

#ifdef __AVX512VBMI__
// 64 bytes from block 4 * p on have the scales (Size bytes) of four blocks and, up to kMostBytes
// per block, the codes of the first three.
constexpr unsigned kMostBytes = 20;
template <unsigned Bytes, unsigned Size> struct BlockPlaces {
    alignas(64) uint8_t codes[64] = {}, scales[4][64] = {};
    uint64_t mask[4] = {};
    constexpr BlockPlaces() {
        static_assert(Bytes <= kMostBytes);
        for (unsigned i = 0; i < 48; i++)
            codes[i] = static_cast<uint8_t>(i / 16 * Bytes + Size + i % 16);
        for (unsigned b = 0; b < 16; b++) {
            for (unsigned i = 0; i < Size; i++) {
                const unsigned lane = BlockOrder::sum(b);
                const unsigned to =
                    Size == 1 ? 4 * lane : 2 * WordsInHalves::word(b, i / 2) + i % 2;
                scales[b / 4][to] = static_cast<uint8_t>(b % 4 * Bytes + i);
                mask[b / 4] |= uint64_t{1} << to;
            }
        }
    }
};
template <unsigned Bytes, unsigned Size> constexpr BlockPlaces<Bytes, Size> kBlockPlaces = {};

// d, or d and m in the halves; or exponents in the lanes.
template <class Block> GGUFX_INLINE Vec::Vi pick_scales(const Block *b) {
    constexpr const auto &places = kBlockPlaces<sizeof *b, __builtin_offsetof(Block, qs)>;
    Vec::Vi v = _mm512_setzero_si512();
#pragma GCC unroll 4
    for (unsigned p = 0; p < 4; p++, b += 4)
        v = _mm512_mask_permutexvar_epi8(v, places.mask[p], _mm512_load_si512(places.scales[p]),
                                         Vec::load_i(b));
    return v;
}
#else
constexpr unsigned kMostBytes = 0; // none
#endif

// Codes of three blocks.
template <class Block> GGUFX_INLINE Vec::Vi first_codes(const Block *b) {
#ifdef __AVX512VBMI__
    if constexpr (sizeof *b <= kMostBytes) {
        constexpr const auto &places = kBlockPlaces<sizeof *b, __builtin_offsetof(Block, qs)>;
        return _mm512_permutexvar_epi8(_mm512_load_si512(places.codes), Vec::load_i(b));
    }
#endif
    const __m256i two = Vec::two_of_16(Vec::load16(b[0].qs), Vec::load16(b[1].qs));
    return _mm512_inserti32x4(_mm512_castsi256_si512(two), Vec::load16(b[2].qs), 2);
}

// Codes of block 4 r + i in lane 4 i + r, dword t in register t.
template <class Block> GGUFX_INLINE void load_16_blocks(Vec::Vi (&v)[4], const Block *b) {
#pragma GCC unroll 4
    for (unsigned r = 0; r < 4; r++, b += 4) {
        const Vec::Vi three = first_codes(b);
        v[r] = _mm512_inserti32x4(three, Vec::load16(b[3].qs), 3);
    }
    Vec::turn_fours(v[0], v[1], v[2], v[3]);
}
// Base over F with plain low and high nibbles.
template <class Base> struct PlainNibbles : Base {
    static constexpr bool kByteShuffles = true;
    static constexpr bool kInLanes = true;
    static GGUFX_INLINE void load_lanes(Vec::Vi (&c)[8], const typename Base::Block *b) {
        Vec::Vi v[4];
        load_16_blocks(v, b);
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
        constexpr unsigned at = __builtin_offsetof(typename Base::Block, qh);
        const Vec::Vi fifth = pick_words<sizeof *b, at, 2, WordsInLanes>(b);
        Vec::Vi v[4];
        load_16_blocks(v, b);
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
    static constexpr bool kByteShuffles = true;
    static GGUFX_INLINE void load_lanes(Vec::Vi (&c)[8], const typename Base::Block *b) {
        Vec::Vi v[4];
        load_16_blocks(v, b);
        split(c, v);
    }
    // vpermb takes six bits of an index: with the table four times, upper bits do not matter.
    static GGUFX_INLINE void split(Vec::Vi (&c)[8], const Vec::Vi (&v)[4]) {
#ifdef __AVX512VBMI__
        const Vec::Vi table = _mm512_add_epi8(_mm512_broadcast_i32x4(Vec::load16(Table)),
                                              _mm512_set1_epi8(static_cast<char>(Base::kOffset)));
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) {
            c[t] = _mm512_permutexvar_epi8(v[t], table);
            c[4 + t] = _mm512_permutexvar_epi8(_mm512_srli_epi16(v[t], 4), table);
        }
#else
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) {
            c[t] = Vec::look_up(Table, Vec::low_nibbles(v[t]), Base::kOffset);
            c[4 + t] = Vec::look_up(Table, Vec::high_nibbles(v[t]), Base::kOffset);
        }
#endif
    }
};

// Base with the scales of a format: d, d and m, or the exponents of MXFP4.
template <class Base> struct BlockScales : Base {
    using Scales = typename Base::Scales;
    using Block = typename Base::Block;
    static constexpr bool kHasMins = Base::kMins != fmt::Mins::kNone;
    static GGUFX_INLINE Vec::Vi scales_of(const Block *b) {
        constexpr unsigned per = kHasMins ? 2 : 1;
        if constexpr (sizeof *b <= kMostBytes)
            return pick_scales(b);
        else
            return pick_words<sizeof *b, 0, per, WordsInHalves>(b);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        constexpr unsigned n_words = __builtin_offsetof(Block, qs) / 2;
        if constexpr (n_words == 0 && kMostBytes == 0) {
            return {Base::in_order(Unpack<fmt::MXFP4>::load_scales(b).d)}; // its own inverse
        } else {
            const Vec::Vi v = scales_of(b);
            const Vec::Vf d = _mm512_cvtph_ps(_mm512_castsi512_si256(v));
            if constexpr (n_words == 0)
                return {Unpack<fmt::MXFP4>::power(v)};
            else if constexpr (kHasMins)
                return {d, _mm512_cvtph_ps(_mm512_extracti64x4_epi64(v, 1))};
            else
                return {d};
        }
    }
};
template <class F, int Offset, int MaxCode>
using BlocksInLanes = BlockScales<PlainBlocks<BlockLaneVec, F, Offset, MaxCode>>;
template <class F, int MaxCode>
using MinBlocksInLanes = BlockScales<MinBlocks<BlockLaneVec, F, MaxCode>>;

template <> struct UnpackLanes<fmt::Q4_0> : PlainNibbles<BlocksInLanes<fmt::Q4_0, 8, 15>> {};
template <> struct UnpackLanes<fmt::Q4_1> : PlainNibbles<MinBlocksInLanes<fmt::Q4_1, 15>> {};
template <> struct UnpackLanes<fmt::Q5_0> : FifthBits<BlocksInLanes<fmt::Q5_0, 16, 31>> {};
template <> struct UnpackLanes<fmt::Q5_1> : FifthBits<MinBlocksInLanes<fmt::Q5_1, 31>> {};
template <>
struct UnpackLanes<fmt::IQ4_NL>
    : TableNibbles<BlocksInLanes<fmt::IQ4_NL, 128, 241>, fmt::kCodesIq4> {};
template <>
struct UnpackLanes<fmt::MXFP4> : TableNibbles<BlocksInLanes<fmt::MXFP4, 12, 24>, fmt::kCodesFp4> {};

// Two blocks of 32 bytes in a register.
template <> struct UnpackLanes<fmt::Q8_0> : PlainBlocks<LaneVec<HalfOrder>, fmt::Q8_0, 128, 255> {
    static constexpr bool kInLanes = true;
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d(b)}; }
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
