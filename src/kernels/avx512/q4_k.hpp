// Q4_K on AVX-512: the 16 bytes before the codes are the whole header of a block, so two blocks
// share a 256-bit decode of d, dmin, scales and minimums.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q4_k.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::Q4_K> : ScaledBlocks<Vec, fmt::Q4_K, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8_t *qs = b[i].qs;
        const __m512i low = _mm512_set1_epi8(15);
        const V8 even = load_halves(qs, qs + 64), odd = load_halves(qs + 32, qs + 96);
        c[0] = _mm512_and_si512(even, low);
        c[1] = _mm512_and_si512(_mm512_srli_epi16(even, 4), low);
        c[2] = _mm512_and_si512(odd, low);
        c[3] = _mm512_and_si512(_mm512_srli_epi16(odd, 4), low);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return header_scales<Scales>(b[0].d, b[1].d);
    }

    // From the 16 bytes of two headers; Q5_K has the same.
    template <class S> static GGUFX_INLINE S header_scales(const uint8_t *p0, const uint8_t *p1) {
        const __m128i h0 = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p0));
        const __m128i h1 = _mm_loadu_si128(reinterpret_cast<const __m128i *>(p1));
        const __m256i head = _mm256_inserti128_si256(_mm256_castsi128_si256(h0), h1, 1);
        const __m256i six = scales6(head); // per lane 8 scales, 8 minimums
        const __m128i scale = _mm256_castsi256_si128(_mm256_permute4x64_epi64(six, 0x08));
        const __m128i min = _mm256_castsi256_si128(_mm256_permute4x64_epi64(six, 0x0d));
        const __m512 dd = _mm512_castps128_ps512(_mm_cvtph_ps(_mm_unpacklo_epi32(h0, h1)));
        const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
        const __m512i second = _mm512_setr_epi32(1, 1, 1, 1, 1, 1, 1, 1, 3, 3, 3, 3, 3, 3, 3, 3);
        return {_mm512_permutexvar_ps(first, dd), _mm512_permutexvar_ps(second, dd),
                _mm512_cvtepu8_epi32(scale), _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(min))};
    }

    // Double words of a header: d and dmin, low six bits of scales 0..3, of minimums 0..3 (their
    // upper two bits belong to 4..7), low nibbles of scales and minimums 4..7.
    static GGUFX_INLINE __m256i scales6(__m256i head) {
        const __m256i shifts = _mm256_setr_epi32(0, 0, 0, 4, 0, 0, 0, 4);
        const __m256i low_bits = _mm256_set1_epi64x(0x0f0f0f0f3f3f3f3f);
        const __m256i high_bits = _mm256_set1_epi64x(0x3030303000000000);
        const __m256i low = _mm256_srlv_epi32(_mm256_shuffle_epi32(head, 0xed), shifts);
        const __m256i high = _mm256_srli_epi32(_mm256_shuffle_epi32(head, 0xa5), 2);
        return _mm256_or_si256(_mm256_and_si256(low, low_bits), _mm256_and_si256(high, high_bits));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
