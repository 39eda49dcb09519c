// Q4_K on AVX2: the 16 bytes before the codes are the whole header of a block.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q4_k.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q4_K> : ScaledBlocks<Vec, fmt::Q4_K, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m256i low = _mm256_set1_epi8(15);
        const V8 first = load32(b->qs + 64 * i), second = load32(b->qs + 64 * i + 32);
        c[0] = _mm256_and_si256(first, low);
        c[1] = _mm256_and_si256(_mm256_srli_epi16(first, 4), low);
        c[2] = _mm256_and_si256(second, low);
        c[3] = _mm256_and_si256(_mm256_srli_epi16(second, 4), low);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return header_scales<Scales>(b->d); }

    // From the 16 bytes of a header; Q5_K has the same.
    template <class S> static GGUFX_INLINE S header_scales(const uint8_t *p) {
        const __m128i head = load16(p), six = scales6(head);
        const __m128 dd = _mm_cvtph_ps(head); // d, dmin, ...
        return {_mm256_broadcastss_ps(dd), _mm256_broadcastss_ps(_mm_movehdup_ps(dd)),
                _mm256_cvtepu8_epi32(six),
                _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(_mm_unpackhi_epi64(six, six)))};
    }

    // 8 scales, 8 minimums. Double words of the header: d and dmin, low six bits of scales 0..3,
    // of minimums 0..3 (their upper two bits belong to 4..7), low nibbles of both 4..7.
    static GGUFX_INLINE __m128i scales6(__m128i head) {
        const __m128i shifts = _mm_setr_epi32(0, 0, 0, 4);
        const __m128i low_bits = _mm_set1_epi64x(0x0f0f0f0f3f3f3f3f);
        const __m128i high_bits = _mm_set1_epi64x(0x3030303000000000);
        const __m128i low = _mm_srlv_epi32(_mm_shuffle_epi32(head, 0xed), shifts);
        const __m128i high = _mm_srli_epi32(_mm_shuffle_epi32(head, 0xa5), 2);
        return _mm_or_si128(_mm_and_si128(low, low_bits), _mm_and_si128(high, high_bits));
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
