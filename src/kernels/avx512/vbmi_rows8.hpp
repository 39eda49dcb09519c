// IQ2_* on AVX-512 VBMI: a grid row is 8 values of 3 levels. The 64 rows of two blocks are looked
// up at once. Lane L: rows 8 * L .. 8 * L + 7 of the first block, then those of the second.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/vbmi_planes.hpp"

namespace ggufx::kernels::avx512vbmi {
namespace {

// Level numbers of values 0..3 and of 4..7, and a byte with their signs, of 64 rows.
struct Rows8 {
    __m512i first, second, signs;
};

// The rows of chunk i as rows of 4; `second` has the signs of values 4..7 in its low half.
GGUFX_INLINE __m512i interleave(__m512i first, __m512i second, unsigned i) {
    return i == 0 ? _mm512_unpacklo_epi8(first, second) : _mm512_unpackhi_epi8(first, second);
}

// Codes from the four level numbers in a byte; bit n of the signs belongs to value n.
struct Codes8 {
    Codes plane[4];

    GGUFX_INLINE void planes(__m512i (&c)[4], __m512i levels, __m512i signs) const {
        constexpr char low = 0x0c, high = 0x30;
        c[0] = avx512vbmi::plane(plane[0], low, _mm512_slli_epi16(levels, 2), signs);
        c[1] = avx512vbmi::plane(plane[1], low, levels, signs);
        c[2] = avx512vbmi::plane(plane[2], high, levels, signs);
        c[3] = avx512vbmi::plane(plane[3], high, _mm512_srli_epi16(levels, 2), signs);
    }
};

// 32 bytes of each of two blocks, in row order.
GGUFX_INLINE __m512i two_by_eight(const uint8_t *first, const uint8_t *second) {
    return _mm512_permutex2var_epi64(_mm512_castsi256_si512(Vec::load_half(first)),
                                     _mm512_setr_epi64(0, 8, 1, 9, 2, 10, 3, 11),
                                     _mm512_castsi256_si512(Vec::load_half(second)));
}

constexpr uint8_t kLevelsIq2[8] = {8, 25, 43};
constexpr Codes8 kCodesIq2 = {
    {signed_codes<2, 2, 0>(kLevelsIq2, 64), signed_codes<2, 2, 1>(kLevelsIq2, 64),
     signed_codes<2, 4, 2>(kLevelsIq2, 64), signed_codes<2, 4, 3>(kLevelsIq2, 64)}};

GGUFX_INLINE void iq2_planes(__m512i (&c)[4], const Rows8 &rows, unsigned i) {
    kCodesIq2.planes(c, interleave(rows.first, rows.second, i),
                     interleave(rows.signs, _mm512_srli_epi16(rows.signs, 4), i));
}

template <> struct Unpack<fmt::IQ2_XXS> : LookedUp<fmt::IQ2_XXS, 64, 64 + 43> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m512 v0 = _mm512_loadu_ps(b[0].qs), v1 = _mm512_loadu_ps(b[1].qs);
        const Indices index(_mm512_castps_si512(_mm512_shuffle_ps(v0, v1, 0x88)));
        const __m512i words = _mm512_castps_si512(_mm512_shuffle_ps(v0, v1, 0xdd));
        const __m512i fields =
            _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x352e2720150e0700), words);
        iq2_planes(c,
                   {levels_of<256>(fmt::kLevelsIq2Xxs.first, index),
                    levels_of<256>(fmt::kLevelsIq2Xxs.second, index),
                    look_up7(fmt::kSigns7.byte, fields)},
                   i);
    }
};

// Low or high bytes of the words of two blocks, in row order.
struct WordBytes {
    alignas(64) uint8_t at[64];
    constexpr explicit WordBytes(unsigned high) : at{} {
        for (unsigned j = 0; j < 64; j++) {
            const unsigned lane = j / 16, block = j / 8 % 2;
            at[j] = static_cast<uint8_t>(64 * block + 2 * (8 * lane + j % 8) + high);
        }
    }
};
constexpr WordBytes kLowBytes{0}, kHighBytes{1};

template <> struct Unpack<fmt::IQ2_XS> : LookedUp<fmt::IQ2_XS, 64, 64 + 43> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m512i v0 = _mm512_loadu_si512(b[0].qs), v1 = _mm512_loadu_si512(b[1].qs);
        Indices index(_mm512_permutex2var_epi8(v0, load64(kLowBytes.at), v1));
        const __m512i upper = _mm512_permutex2var_epi8(v0, load64(kHighBytes.at), v1);
        index.set_high<1>(upper);
        iq2_planes(c,
                   {levels_of<512>(fmt::kLevelsIq2Xs.first, index),
                    levels_of<512>(fmt::kLevelsIq2Xs.second, index),
                    look_up7(fmt::kSigns7.byte, _mm512_srli_epi16(upper, 1))},
                   i);
    }
};

template <> struct Unpack<fmt::IQ2_S> : LookedUp<fmt::IQ2_S, 64, 64 + 43> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        Indices index(two_by_eight(b[0].qs, b[1].qs));
        const __m128i words = _mm_unpacklo_epi16(load8(b[0].qh), load8(b[1].qh));
        const __m512i upper = _mm512_multishift_epi64_epi8( // two bits per row
            _mm512_set1_epi64(0x0e0c0a0806040200), _mm512_cvtepu16_epi64(words));
        index.set_high<2>(upper);
        iq2_planes(c,
                   {levels_of<1024>(fmt::kLevelsIq2S.first, index),
                    levels_of<1024>(fmt::kLevelsIq2S.second, index),
                    two_by_eight(b[0].signs, b[1].signs)},
                   i);
    }
};

} // namespace
} // namespace ggufx::kernels::avx512vbmi
