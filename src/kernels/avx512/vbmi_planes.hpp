// Row-wise products of the IQ types on AVX-512 VBMI: codes by shuffles from tables in registers.
// The four vectors of a chunk (256 values) are planes (planes.hpp).
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/grids/levels.hpp"
#include "kernels/avx512/formats.hpp"

namespace ggufx::kernels::avx512vbmi {
namespace {

using Vec = avx512::PlaneVec;

template <class F> struct Unpack; // specialized per format

// The scales of F in AVX-512.
template <class F, int Offset, int MaxCode>
struct LookedUp : ScalesOf<avx512::Unpack<F>, Vec, F, Offset, MaxCode> {
    static constexpr bool kLongChains = true;
};

// ---- lookups ------------------------------------------------------------------------------------

GGUFX_INLINE __m512i load64(const uint8_t *p) {
    return _mm512_load_si512(p);
}

// Byte i = table[bits 0..6 of index byte i]; 128 bytes.
GGUFX_INLINE __m512i look_up7(const uint8_t *table, __m512i index) {
    return _mm512_permutex2var_epi8(load64(table), index, load64(table + 64));
}

// 64 indices into a table of more than 256 bytes: bits 0..7, and masks of the higher bits.
struct Indices {
    __m512i low;
    __mmask64 quarter[3]; // bits 6 and 7 are 1, 2, 3
    __mmask64 high[2];    // bit 8 + i

    GGUFX_INLINE explicit Indices(__m512i v) : low(v), high{0, 0} {
        const __mmask64 bit7 = _mm512_movepi8_mask(v);
        const __mmask64 bit6 = _mm512_movepi8_mask(_mm512_slli_epi16(v, 1));
        quarter[0] = bit6 & ~bit7;
        quarter[1] = bit7 & ~bit6;
        quarter[2] = bit6 & bit7;
    }
    // Sets bits 8 and up of the index from bits 0 .. Bits - 1 of each byte.
    template <unsigned Bits> GGUFX_INLINE void set_high(__m512i v) {
#pragma GCC unroll 2
        for (unsigned i = 0; i < Bits; i++) {
            high[i] = _mm512_test_epi8_mask(v, _mm512_set1_epi8(static_cast<char>(1 << i)));
        }
    }
};

// Byte i = table[index i]. A masked shuffle takes one instruction per 64 bytes of table and no
// blend; vpermi2b takes three per 128.
template <unsigned N> GGUFX_INLINE __m512i levels_of(const uint8_t *table, const Indices &index) {
    if constexpr (N == 256) {
        __m512i v = _mm512_permutexvar_epi8(index.low, load64(table));
#pragma GCC unroll 3
        for (unsigned i = 0; i < 3; i++) {
            v = _mm512_mask_permutexvar_epi8(v, index.quarter[i], index.low,
                                             load64(table + 64 * (i + 1)));
        }
        return v;
    } else {
        constexpr unsigned bit = N == 512 ? 0 : 1;
        static_assert(N == 512u << bit);
        return _mm512_mask_blend_epi8(index.high[bit], levels_of<N / 2>(table, index),
                                      levels_of<N / 2>(table + N / 2, index));
    }
}

// Codes of 64 six-bit numbers with a level at bit kShift and a sign bit at kSign; the other bits
// are ignored.
struct Codes {
    alignas(64) uint8_t code[64];
};
template <unsigned Bits, unsigned Shift, unsigned Sign>
constexpr Codes signed_codes(const uint8_t (&levels)[8], unsigned offset) {
    Codes to{};
    for (unsigned i = 0; i < 64; i++) {
        const unsigned v = levels[i >> Shift & ((1u << Bits) - 1u)];
        to.code[i] = static_cast<uint8_t>(i >> Sign & 1u ? offset - v : offset + v);
    }
    return to;
}

// Looks up indices with the bits of `level` set in `mask` and the other bits of `sign`.
GGUFX_INLINE __m512i plane(const Codes &codes, char mask, __m512i level, __m512i sign) {
    const __m512i index = _mm512_ternarylogic_epi64(_mm512_set1_epi8(mask), level, sign, 0xca);
    return _mm512_permutexvar_epi8(index, load64(codes.code));
}

} // namespace
} // namespace ggufx::kernels::avx512vbmi
