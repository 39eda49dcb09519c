// Row-wise products of types whose codes are transposed while still packed: bytes of 16 blocks are
// rearranged before they are unpacked. Each lane then accumulates one block, or half of one. This
// takes a third fewer instructions than transposing the sums, because shuffles handle packed bytes
// instead of codes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/pick_words.hpp"
#include "kernels/loops/pack_act.hpp"
#include "kernels/loops/unpack/all.hpp"

namespace ggufx::kernels::avx512 {
namespace {

// Order of the codes and sums of block b of a step (16 blocks). code(b, t) is the position of its
// values 4t .. 4t + 3, as register * 16 + lane; sum(b) is the lane of its sum.
struct BlockOrder { // 16 bytes per block, one block per lane; four adjacent ones in a register
    static constexpr unsigned sum(unsigned b) { return 4 * (b % 4) + b / 4; } // its own inverse
    static constexpr unsigned code(unsigned b, unsigned t) { return 16 * t + sum(b); }
};
struct HalfOrder { // two blocks of 32 bytes in a register: b and b + 4
    static constexpr unsigned sum(unsigned b) { return b; }
    static constexpr unsigned code(unsigned b, unsigned t) {
        const unsigned half = 2 * (b / 4 % 2) + t / 4;
        return 16 * (b / 8 * 4 + t % 4) + 4 * half + b % 4;
    }
};
// Position in 256-blocks of 64 bytes per register. `quarter` b / 4 of the step is element k of 128
// bits, `part` its 16-byte part; `nibble`: low or high.
constexpr unsigned place_of(unsigned nibble, unsigned part, unsigned quarter, unsigned t) {
    return 16 * (4 * nibble + t % 4) + 4 * part + quarter;
}
constexpr unsigned kByQuarters = 0xcccc, kByLanes = 0xaaaa; // lanes of the second 256-block
struct PairOrder { // Q4_K, Q5_K: low and high nibbles belong to adjacent blocks
    static constexpr unsigned kSecond = kByQuarters;
    static constexpr unsigned sum(unsigned b) { return 4 * (b / 2 % 2 + 2 * (b % 2)) + b / 4; }
    static constexpr unsigned code(unsigned b, unsigned t) {
        return place_of(b % 2, 2 * (b / 2 % 2) + t / 4, b / 4, t);
    }
};
struct FarOrder { // Q6_K: the high nibbles belong to the block two later
    static constexpr unsigned kSecond = kByQuarters;
    static constexpr unsigned sum(unsigned b) { return 4 * (b % 4) + b / 4; }
    static constexpr unsigned code(unsigned b, unsigned t) {
        return place_of(b / 2 % 2, 2 * (b % 2) + t / 4, b / 4, t);
    }
    static constexpr int kOffset = 32;
    static constexpr unsigned group(unsigned b, unsigned h) {
        return 16 * (b / 2 % 2) + 4 * (2 * (b % 2) + h) + b / 4;
    }
};
struct SingleOrder { // IQ4_XS: both nibbles belong to one block
    static constexpr unsigned kSecond = kByQuarters;
    static constexpr unsigned sum(unsigned b) { return 4 * (b % 4) + b / 4; }
    static constexpr unsigned code(unsigned b, unsigned t) {
        return place_of(t / 4, b % 4, b / 4, t);
    }
};
struct PlaneOrder { // Q2_K, Q3_K: four planes of two bits, two 256-blocks interleaved
    static constexpr unsigned kSecond = kByLanes;
    static constexpr unsigned sum(unsigned b) {
        return 4 * (2 * (b / 4 % 2) + b % 4 / 2) + 2 * (b % 2) + b / 8;
    }
    static constexpr unsigned code(unsigned b, unsigned t) {
        const unsigned lane = 4 * (2 * (b / 4 % 2) + t / 4) + 2 * (t % 2) + b / 8;
        return 16 * (2 * (b % 4) + t % 4 / 2) + lane;
    }
    // Sums of 16 are the words of the lane of their block; for planes 2 and 3 the second one is low.
    static constexpr unsigned word(unsigned b, unsigned h) { return 2 * sum(b) + (h ^ b % 4 / 2); }
};

// Offsets of codes with a scale per 16 that are subtracted before scaling, else 0.
template <class O> constexpr int kOffsets = 0;
template <class O>
requires requires {
    O::kOffset;
}
constexpr int kOffsets<O> = O::kOffset;

template <class Order> struct LanePlaces {
    uint8_t code[128], sum[16]; // positions of dword i of the codes, and of block b
    constexpr LanePlaces() : code(), sum() {
        for (unsigned b = 0; b < 16; b++) {
            sum[b] = static_cast<uint8_t>(Order::sum(b));
            for (unsigned t = 0; t < 8; t++)
                code[8 * b + t] = static_cast<uint8_t>(Order::code(b, t));
        }
    }
};

// The primitives for an order.
template <class O> struct LaneVec : Vec {
    using Order = O;
    static constexpr bool kByteShuffles = false; // VBMI shortens the loop
    static constexpr LanePlaces<O> kPlaces = {};

    static GGUFX_INLINE size_t block_position(size_t b) { return 32 * b; } // until pack() is done
    static constexpr unsigned lane_of_block(unsigned b) { return kPlaces.sum[b]; }
    // Reorders a packed column from row order; numbers per block follow the order of their sums.
    static void to_lanes(const Act &act) {
        const size_t n_steps = (act.k + 511) / 512;
        for (size_t step = 0; step < n_steps; step++) {
            alignas(64) int32_t codes[128], sums[16];
            alignas(64) float d[16], s[16];
            int8_t *q = act.q + 512 * step;
            int16_t *s16 = act.s16 + 32 * step;
            for (unsigned i = 0; i < 128; i++) codes[kPlaces.code[i]] = load_i32le(q + 4 * i);
            for (unsigned b = 0; b < 16; b++) {
                const unsigned to = kPlaces.sum[b];
                d[to] = act.d[16 * step + b];
                s[to] = act.s[16 * step + b];
                sums[to] = load_i32le(s16 + 2 * b);
            }
            __builtin_memcpy(q, codes, sizeof codes);
            __builtin_memcpy(act.d + 16 * step, d, sizeof d);
            if constexpr (kOffsets<O> != 0) {
                alignas(64) int32_t offsets[32];
                for (unsigned i = 0; i < 32; i++)
                    offsets[O::group(i / 2, i % 2)] = kOffsets<O> * s16[i];
                __builtin_memcpy(act.s + 16 * step, offsets, sizeof offsets / 2);
                __builtin_memcpy(s16, offsets + 16, sizeof offsets / 2);
                continue;
            }
            if constexpr (requires { O::word(0, 0); }) {
                alignas(64) int16_t words[32];
                for (unsigned i = 0; i < 32; i++) words[O::word(i / 2, i % 2)] = s16[i];
                __builtin_memcpy(sums, words, sizeof sums);
            }
            __builtin_memcpy(act.s + 16 * step, s, sizeof s);
            __builtin_memcpy(s16, sums, sizeof sums);
        }
    }
    // Sums over blocks in the tree order of C2.
    static GGUFX_INLINE Vf in_order(Vf l) {
        alignas(64) int32_t from[16];
        for (unsigned b = 0; b < 16; b++) from[b] = kPlaces.sum[b];
        return _mm512_permutexvar_ps(_mm512_load_si512(from), l);
    }
    static GGUFX_INLINE float tree(const Vf (&l)[1]) { return Vec::tree({in_order(l[0])}); }
    static GGUFX_INLINE void tree_of_four(float (&to)[4], const Vf (&l)[4]) {
        Vec::tree_of_four(to, {in_order(l[0]), in_order(l[1]), in_order(l[2]), in_order(l[3])});
    }

    // For scales of 16 with offsets, s and s16 hold the offset terms.
    static GGUFX_INLINE void take_offsets(Vi (&u)[2], const Act &act, size_t step) {
        if constexpr (kOffsets<O> != 0) {
            u[0] = sub_i(u[0], _mm512_load_si512(act.s + 16 * step));
            u[1] = sub_i(u[1], _mm512_load_si512(act.s16 + 32 * step));
        }
    }

    // ---- sums: registers 0..3 and 4..7 of codes
    static GGUFX_INLINE Vi four_dots(const Vi *c, const int8_t *q) {
        Vi sum = _mm512_setzero_si512();
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) sum = dot(sum, c[t], _mm512_load_si512(q + 64 * t));
        return sum;
    }
    static GGUFX_INLINE void sum_lanes(Vi (&u)[2], const Vi *c, const int8_t *q) {
        u[0] = four_dots(c, q);
        u[1] = four_dots(c + 4, q + 256);
    }

    // The f16 of two 256-blocks in their lanes; two adjacent ones of each. (A register of sixteen
    // costs twice as much to convert.)
    static GGUFX_INLINE Vf block_f16(const uint8_t *p, size_t far) {
        const uint32_t both = load_u16le(p) | uint32_t{load_u16le(p + far)} << 16;
        return of_floats(_mm_cvtph_ps(_mm_cvtsi32_si128(static_cast<int32_t>(both))), 0, 1);
    }
    static GGUFX_INLINE void block_f16s(Vf (&to)[2], const uint8_t *p, size_t far) {
        const __m128i first = _mm_cvtsi32_si128(load_i32le(p));
        const __m128 f = _mm_cvtph_ps(_mm_insert_epi32(first, load_i32le(p + far), 1));
        to[0] = of_floats(f, 0, 2);
        to[1] = of_floats(f, 1, 3);
    }
    static GGUFX_INLINE Vf of_floats(__m128 f, int first, int second) {
        const Vi index = _mm512_mask_mov_epi32(set1_i(first), O::kSecond, set1_i(second));
        return _mm512_permutexvar_ps(index, _mm512_castps128_ps512(f));
    }
    static GGUFX_INLINE Vi of_blocks(uint32_t first, uint32_t second) {
        return _mm512_mask_set1_epi32(set1_i(static_cast<int32_t>(first)), O::kSecond,
                                      static_cast<int32_t>(second));
    }
    // Signed scales of 16 groups of each of two 256-blocks, in the order of sums of 16 of FarOrder.
    static GGUFX_INLINE Vi group_scales(Sixteen v, unsigned i) {
        const auto both = (__m256i)pick<0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15>(v);
        return _mm512_cvtepi8_epi32(i == 0 ? low_words(both) : high_words(both));
    }
    // The same as words in the order of PlaneOrder::word.
    template <bool Signed> static GGUFX_INLINE V16 group_words(Sixteen v) {
#ifdef __AVX512VBMI__
        alignas(64) uint8_t from[64] = {}; // to the tops of words
        for (unsigned b = 0; b < 16; b++) {
            for (unsigned h = 0; h < 2; h++)
                from[2 * O::word(b, h) + 1] = static_cast<uint8_t>(b / 8 * 16 + b % 8 * 2 + h);
        }
        const Vi top = _mm512_maskz_permutexvar_epi8(0xaaaaaaaaaaaaaaaa, _mm512_load_si512(from),
                                                     _mm512_castsi256_si512((__m256i)v));
        return Signed ? _mm512_srai_epi16(top, 8) : _mm512_srli_epi16(top, 8);
#else
        const auto both =
            (__m256i)Vec::pick<0, 1, 2, 3, 5, 4, 7, 6, 8, 9, 10, 11, 13, 12, 15, 14>(v);
        const __m256i bytes = two_of_16(low_words(both), high_words(both));
        return Signed ? _mm512_cvtepi8_epi16(bytes) : _mm512_cvtepu8_epi16(bytes);
#endif
    }
    // 16-bit words of two vectors of 16 bytes, interleaved.
    static GGUFX_INLINE __m128i low_words(__m256i v) {
        return _mm_unpacklo_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    }
    static GGUFX_INLINE __m128i high_words(__m256i v) {
        return _mm_unpackhi_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    }
};

// One sum per block.
template <class O> struct SingleLaneVec : LaneVec<O> {
    static GGUFX_INLINE Vec::Vi pair_sums(Vec::Vi u0, Vec::Vi) { return u0; }
};
using BlockLaneVec = SingleLaneVec<BlockOrder>;

// High nibbles may stay in place and count 16 times: the sum is shifted.
GGUFX_INLINE Vec::Vi high_where_they_are(Vec::Vi v) {
    return _mm512_and_si512(v, _mm512_set1_epi8(static_cast<char>(0xf0)));
}
template <class U>
GGUFX_INLINE void sum_nibbles(Vec::Vi (&u)[2], const Vec::Vi *c, const int8_t *q) {
    u[0] = U::four_dots(c, q);
    u[1] = U::template shift_right<4>(U::four_dots(c + 4, q + 256));
}

} // namespace
} // namespace ggufx::kernels::avx512
