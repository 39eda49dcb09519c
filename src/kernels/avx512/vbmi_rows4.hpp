// IQ3_S and IQ3_XXS on AVX-512 VBMI: a grid row is 4 values of 8 levels, a chunk has 64 rows.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/vbmi_planes.hpp"

namespace ggufx::kernels::avx512vbmi {
namespace {

// Planes from level numbers (formats/grids/levels.hpp) and the four sign bits of each row.
struct Codes4 {
    Codes plane[4];
    constexpr Codes4(const uint8_t (&levels)[8], unsigned offset)
        : plane{signed_codes<3, 3, 0>(levels, offset), signed_codes<3, 0, 3>(levels, offset),
                signed_codes<3, 3, 2>(levels, offset), signed_codes<3, 0, 3>(levels, offset)} {}

    GGUFX_INLINE void planes(__m512i (&c)[4], __m512i first, __m512i second, __m512i signs) const {
        constexpr char high = 0x38, low = 0x07;
        c[0] = avx512vbmi::plane(plane[0], high, first, signs);
        c[1] = avx512vbmi::plane(plane[1], low, second, _mm512_slli_epi16(signs, 2));
        c[2] = avx512vbmi::plane(plane[2], high, second, signs);
        c[3] = avx512vbmi::plane(plane[3], low, first, signs);
    }
};

constexpr Codes4 kCodesIq3S({1, 3, 5, 7, 9, 11, 13, 15}, 16);

template <> struct Unpack<fmt::IQ3_S> : LookedUp<fmt::IQ3_S, 16, 16 + 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        Indices index(_mm512_loadu_si512(b[i].qs));
        __builtin_memcpy(&index.high[0], b[i].qh, 8);
        const __m512i bytes = _mm512_cvtepu8_epi16(load_half(b[i].signs));
        const __m512i signs = _mm512_or_si512(bytes, _mm512_slli_epi16(bytes, 4)); // per row of 4
        kCodesIq3S.planes(c, levels_of<512>(fmt::kLevelsIq3S.first, index),
                          levels_of<512>(fmt::kLevelsIq3S.second, index), signs);
    }
};

constexpr Codes4 kCodesIq3Xxs({4, 12, 20, 28, 36, 44, 52, 62}, 64);

template <> struct Unpack<fmt::IQ3_XXS> : LookedUp<fmt::IQ3_XXS, 64, 64 + 62> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const Indices index(_mm512_loadu_si512(b[i].qs));
        kCodesIq3Xxs.planes(c, levels_of<256>(fmt::kLevelsIq3Xxs.first, index),
                            levels_of<256>(fmt::kLevelsIq3Xxs.second, index), signs(b[i].gas));
    }

    // Signs of each row of 4: each 7-bit field twice, its sign byte, half of that byte.
    static GGUFX_INLINE __m512i signs(const uint8_t *gas) {
        const __m512i words = _mm512_cvtepu32_epi64(load_half(gas));
        const __m512i fields =
            _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x15150e0e07070000), words);
        const __m512i bytes = look_up7(fmt::kSigns7.byte, fields);
        return _mm512_multishift_epi64_epi8(_mm512_set1_epi64(0x3430242014100400), bytes);
    }
};

} // namespace
} // namespace ggufx::kernels::avx512vbmi
