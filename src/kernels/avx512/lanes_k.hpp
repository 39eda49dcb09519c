// Formats of lanes.hpp with 256-blocks: Q4_K, Q5_K, Q6_K, IQ4_XS, Q2_K, Q3_K.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/lanes_32.hpp"

namespace ggufx::kernels::avx512 {
namespace {

// Base with the scales per 16 of the format's own struct.
template <class F, class Order, int MaxCode>
struct GroupLanes : ScaledGroups<UnpackLanes<F>, LaneVec<Order>, F, 0, MaxCode> {
    static constexpr bool kInLanes = true;
    static GGUFX_INLINE Vec::Sixteen groups(const typename F::Block *b) {
        return Unpack<F>::groups(b);
    }
};

// Loads 128 bytes of two 256-blocks in the order of place_of().
GGUFX_INLINE void load_quarters(Vec::Vi (&v)[4], const uint8_t *first, const uint8_t *second) {
    v[0] = Vec::load_i(first);
    v[1] = Vec::load_i(first + 64);
    v[2] = Vec::load_i(second);
    v[3] = Vec::load_i(second + 64);
    Vec::turn_fours(v[0], v[1], v[2], v[3]);
}

// Low nibbles of `nibbles`, the other bits of `high`.
GGUFX_INLINE Vec::Vi select_low(Vec::Vi nibbles, Vec::Vi high) {
    return _mm512_ternarylogic_epi64(high, nibbles, _mm512_set1_epi8(15), 0xd8);
}

// Q4_K and Q5_K: scales in the order of PairOrder.
template <class F, int MaxCode> struct SixBitLanes : ScaledBlocks<LaneVec<PairOrder>, F, MaxCode> {
    using Base = ScaledBlocks<LaneVec<PairOrder>, F, MaxCode>;
    static constexpr bool kInLanes = true, kByteShuffles = true;
    static GGUFX_INLINE typename Base::Scales load_scales(const typename F::Block *b) {
        const Vec::Sixteen eights = Unpack<F>::eights(Base::sixteen_at(b, 0));
        Vec::Vf d[2];
        Base::block_f16s(d, b->d, sizeof *b);
#ifdef __AVX512VBMI__
        alignas(64) uint8_t scale[64] = {};
        for (unsigned i = 0; i < 16; i++)
            scale[4 * PairOrder::sum(i)] = static_cast<uint8_t>(16 * (i / 8) + i % 8);
        const Vec::Vi index = _mm512_load_si512(scale);
        const auto widen = [&](Vec::Vi at) __attribute__((always_inline)) {
            return _mm512_maskz_permutexvar_epi8(0x1111111111111111, at,
                                                 _mm512_castsi256_si512((__m256i)eights));
        };
        return {d[0], d[1], widen(index),
                Vec::to_float(widen(_mm512_or_si512(index, _mm512_set1_epi32(8))))};
#else
        const __m256i six =
            (__m256i)Vec::pick<0, 4, 2, 6, 1, 5, 3, 7, 8, 12, 10, 14, 9, 13, 11, 15>(eights);
        return {d[0], d[1], _mm512_cvtepu8_epi32(Base::low_words(six)),
                Vec::to_float(_mm512_cvtepu8_epi32(Base::high_words(six)))};
#endif
    }
};

template <> struct UnpackLanes<fmt::Q4_K> : SixBitLanes<fmt::Q4_K, 15> {
    static GGUFX_INLINE void load_lanes(Vi (&c)[8], const Block *b) {
        Vi v[4];
        load_quarters(v, b[0].qs, b[1].qs);
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) {
            c[t] = low_nibbles(v[t]);
            c[4 + t] = high_where_they_are(v[t]);
        }
    }
    static GGUFX_INLINE void sum_lanes(Vi (&u)[2], const Vi *c, const int8_t *q) {
        sum_nibbles<UnpackLanes>(u, c, q);
    }
};

template <> struct UnpackLanes<fmt::Q5_K> : SixBitLanes<fmt::Q5_K, 31> {
    static GGUFX_INLINE void load_lanes(Vi (&c)[8], const Block *b) {
        Vi v[4];
        load_quarters(v, b[0].qs, b[1].qs);
        // fifth bits of eight blocks in a byte: those of a pair are moved to bits 4 and 5
        const __m512i first = _mm512_setr_epi32(0, 0, 8, 8, 4, 4, 12, 12, 0, 0, 8, 8, 4, 4, 12, 12);
        const __m512i left = _mm512_setr_epi32(4, 0, 4, 0, 4, 0, 4, 0, 2, 30, 2, 30, 2, 30, 2, 30);
        const Vi qh = two_of_32(load_half(b[0].qh), load_half(b[1].qh));
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) {
            const __m512i index = add_i(first, set1_i(static_cast<int32_t>(t)));
            const Vi high = _mm512_rolv_epi32(_mm512_permutexvar_epi32(index, qh), left);
            const Vi fifth = _mm512_set1_epi8(16);
            c[t] = select_low(v[t], _mm512_and_si512(high, fifth));
            c[4 + t] = select_low(_mm512_srli_epi16(v[t], 4),
                                  _mm512_and_si512(_mm512_srli_epi16(high, 1), fifth));
        }
    }
};

template <> struct UnpackLanes<fmt::Q6_K> : GroupLanes<fmt::Q6_K, FarOrder, 63> {
    static GGUFX_INLINE void load_lanes(Vi (&c)[8], const Block *b) {
        Vi v[4], high[4];
        load_quarters(v, b[0].ql, b[1].ql);
        // two bits of four blocks in a byte, those of the upper lanes shifted down
        const __m512i first =
            _mm512_setr_epi32(0, 8, 16, 24, 4, 12, 20, 28, 0, 8, 16, 24, 4, 12, 20, 28);
        const __m512i down = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
        const Vi qh[2] = {load_i(b[0].qh), load_i(b[1].qh)};
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) {
            const __m512i index = add_i(first, set1_i(static_cast<int32_t>(t)));
            high[t] = _mm512_srlv_epi32(_mm512_permutex2var_epi32(qh[0], index, qh[1]), down);
        }
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) {
            // a shift brings bits of a neighbour only to where the nibbles go
            const Vi two = _mm512_and_si512(high[t], _mm512_set1_epi8(0x33));
            c[t] = select_low(v[t], _mm512_slli_epi16(two, 4));
            c[4 + t] = select_low(_mm512_srli_epi16(v[t], 4), two);
        }
    }
};

template <>
struct UnpackLanes<fmt::IQ4_XS>
    : TableNibbles<ScaledCodes<SingleLaneVec<SingleOrder>, fmt::IQ4_XS, 128, 241>, fmt::kCodesIq4> {
    static GGUFX_INLINE void load_lanes(Vi (&c)[8], const Block *b) {
        Vi v[4];
        load_quarters(v, b[0].qs, b[1].qs);
        split(c, v);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        // block 4 * (k % 2) + part of the 256 in lane 4 * part + k
        const __m512i low_at =
            _mm512_setr_epi32(0, 16, 0, 16, 4, 20, 4, 20, 8, 24, 8, 24, 12, 28, 12, 28);
        const Vi low = of_blocks(load_i32le(b[0].scales_l), load_i32le(b[1].scales_l));
        const Vi high = of_blocks(load_u16le(b[0].scales_h) << 4, load_u16le(b[1].scales_h) << 4);
        const Vi four = and_i(_mm512_srlv_epi32(low, low_at), 15);
        const Vi two = and_i(_mm512_srlv_epi32(high, _mm512_srli_epi32(low_at, 1)), 0x30);
        return {block_f16(b->d, sizeof(Block)), sub_i(add_i(four, two), set1_i(32))};
    }
};

// Planes of two bits stay in place, so higher ones count 4 and more times. c[2 * j] and c[2 * j +
// 1] are plane j of dwords 0, 1 and 2, 3 of 16 bytes.
GGUFX_INLINE void load_planes_of(Vec::Vi (&v)[2], Vec::Vi first, Vec::Vi second) {
    v[0] = _mm512_unpacklo_epi32(first, second);
    v[1] = _mm512_unpackhi_epi32(first, second);
}
// Sums of 16 fit words: two of a block in its lane are multiplied by their scales and added at once.
template <class F, int MaxCode>
struct PlaneLanes : ScaledGroups<UnpackLanes<F>, LaneVec<PlaneOrder>, F, 0, MaxCode> {
    static constexpr bool kInLanes = true, kByteShuffles = true;
    using Vi = Vec::Vi;
    struct Scales {
        Vec::Vf d, dmin;
        Vec::V16 groups, sum16;
    };
    // Planes 0, 1 and 2, 3 by lanes. Each counts as often as its place says.
    static GGUFX_INLINE void sum_lanes(Vi (&u)[2], const Vi *c, const int8_t *q) {
        Vi plane[4];
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            plane[j] = Vec::dot(_mm512_setzero_si512(), c[2 * j], Vec::load_i(q + 128 * j));
            plane[j] = Vec::dot(plane[j], c[2 * j + 1], Vec::load_i(q + 128 * j + 64));
        }
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++)
            u[i] = Vec::add_i(_mm512_unpacklo_epi64(plane[2 * i], plane[2 * i + 1]),
                              _mm512_unpackhi_epi64(plane[2 * i], plane[2 * i + 1]));
    }
    static GGUFX_INLINE Vi fold(const Scales &s, Vi u0, Vi u1, const int16_t *s16) {
        constexpr int last = MaxCode == 3 ? 6 : 4; // plane 3 of Q3_K is in the place of plane 2
        const Vi down =
            _mm512_setr_epi32(0, 0, 2, 2, 4, 4, last, last, 0, 0, 2, 2, 4, 4, last, last);
        const Vi low = _mm512_mask_mov_epi32(u0, 0xf0f0, u1);
        const Vi other = _mm512_mask_mov_epi32(u1, 0xf0f0, u0);
        const Vi high = _mm512_shuffle_i64x2(other, other, 0xb1);
        const Vi up = Vec::sub_i(Vec::set1_i(16), down);
        Vi words = _mm512_mask_mov_epi16(_mm512_srlv_epi32(low, down), 0xaaaaaaaa,
                                         _mm512_sllv_epi32(high, up));
        if constexpr (F::kMins == fmt::Mins::kNone) // an offset of 4
            words = _mm512_sub_epi16(words, _mm512_slli_epi16(_mm512_load_si512(s16), 2));
        return _mm512_madd_epi16(words, s.groups);
    }
};

template <> struct UnpackLanes<fmt::Q2_K> : PlaneLanes<fmt::Q2_K, 3> {
    static GGUFX_INLINE void load_lanes(Vi (&c)[8], const Block *b) {
        Vi v[2];
        load_planes_of(v, load_i(b[0].qs), load_i(b[1].qs));
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++)
            c[i] =
                _mm512_and_si512(v[i % 2], _mm512_set1_epi8(static_cast<char>(3 << (i / 2 * 2))));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const V16 both = group_words<false>(sixteen_at(b, 0));
        Vf d[2];
        block_f16s(d, b->d, sizeof(Block));
        return {d[0], d[1], and_i(both, 0x000f000f), _mm512_srli_epi16(both, 4)};
    }
};

// With a third bit: plane 3 is shifted down to plane 2, otherwise it would not fit in a byte.
template <> struct UnpackLanes<fmt::Q3_K> : PlaneLanes<fmt::Q3_K, 7> {
    static GGUFX_INLINE void load_lanes(Vi (&c)[8], const Block *b) {
        Vi v[2], high[2];
        load_planes_of(v, load_i(b[0].qs), load_i(b[1].qs));
        // bit 4 * half + j of a byte belongs to plane j; it is moved to bit 4 + j
        load_planes_of(high, _mm512_broadcast_i64x4(load_half(b[0].hmask)),
                       _mm512_broadcast_i64x4(load_half(b[1].hmask)));
        const __m512i up = _mm512_setr_epi32(4, 4, 4, 4, 4, 4, 4, 4, 0, 0, 0, 0, 0, 0, 0, 0);
#pragma GCC unroll 2
        for (auto &h : high) h = _mm512_sllv_epi32(h, up);
        add_third<0, 0, 2>(c, v, high);
        add_third<1, 2, 1>(c, v, high);
        add_third<2, 4, 0>(c, v, high);
#pragma GCC unroll 2
        for (auto &two : v) two = _mm512_srli_epi16(two, 2);
        add_third<3, 4, 1>(c, v, high);
    }
    // Plane J of two bits from bit At on; its third bit is Down bits above its position.
    template <unsigned J, unsigned At, unsigned Down>
    static GGUFX_INLINE void add_third(Vi (&c)[8], const Vi (&v)[2], const Vi (&high)[2]) {
        const __m512i third = _mm512_set1_epi8(1 << (At + 2));
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            const Vi bit = _mm512_and_si512(shift_down<Down>(high[i]), third);
            c[2 * J + i] = _mm512_ternarylogic_epi64(
                bit, v[i], _mm512_set1_epi8(static_cast<char>(3 << At)), 0xf8); // bit | v & mask
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {block_f16(b->d, sizeof(Block)), zero(),
                group_words<true>(Unpack<fmt::Q3_K>::groups(b)), zero_codes()};
    }
};

} // namespace
} // namespace ggufx::kernels::avx512
