// Q3_K on AVX2: the planes of TQ2_0, a third bit in a plane of its own, 6-bit scales per 16.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q3_k.hpp"
#include "kernels/avx2/q2_k.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q3_K> : PackedGroups<Unpack<fmt::Q3_K>, Vec, fmt::Q3_K, 2, 7> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m256i four = _mm256_set1_epi8(4);
        const V8 high =
            _mm256_srl_epi16(load32(b->hmask), _mm_cvtsi32_si128(4 * static_cast<int>(i)));
        two_bit_planes(c, b->qs + 32 * i);
        c[0] = _mm256_or_si256(c[0], _mm256_and_si256(_mm256_slli_epi16(high, 2), four));
        c[1] = _mm256_or_si256(c[1], _mm256_and_si256(_mm256_slli_epi16(high, 1), four));
        c[2] = _mm256_or_si256(c[2], _mm256_and_si256(high, four));
        c[3] = _mm256_or_si256(c[3], _mm256_and_si256(_mm256_srli_epi16(high, 1), four));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m128i v = scales6(b->scales), s = sum_order(v);
        return {broadcast_f16(b->d),
                zero(),
                {_mm256_cvtepi8_epi32(s), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(s, s))},
                _mm256_cvtepi8_epi16(v)};
    }

    // 16 scales -32..31: low nibbles in 8 bytes, four 2-bit planes in 4.
    static GGUFX_INLINE __m128i scales6(const uint8_t *p) {
        const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(p));
        int32_t planes;
        __builtin_memcpy(&planes, p + 8, sizeof planes);
        const __m128i low = _mm_unpacklo_epi64(v, _mm_srli_epi16(v, 4));
        const __m128i high = _mm_srlv_epi32(_mm_set1_epi32(planes), _mm_setr_epi32(0, 2, 4, 6));
        const __m128i six = _mm_or_si128(_mm_and_si128(low, _mm_set1_epi8(15)),
                                         _mm_slli_epi16(_mm_and_si128(high, _mm_set1_epi8(3)), 4));
        return _mm_sub_epi8(six, _mm_set1_epi8(32));
    }
    static GGUFX_INLINE GroupScales group_scales(const Block &b) {
        GroupScales to;
        _mm_store_si128(reinterpret_cast<__m128i *>(to.scale), scales6(b.scales));
        return to;
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
