// Q3_K on AVX-512: the planes of TQ2_0, a third bit in a plane of its own, 6-bit scales per 16.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q3_k.hpp"
#include "kernels/avx512/q2_k.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::Q3_K> : PackedGroups<Unpack<fmt::Q3_K>, Vec, fmt::Q3_K, 2, 7> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(b[i].hmask));
        const V8 high =
            _mm512_inserti64x4(_mm512_castsi256_si512(low), _mm256_srli_epi16(low, 4), 1);
        two_bit_planes(c, b[i].qs);
        c[0] = with_third(c[0], _mm512_slli_epi16(high, 2));
        c[1] = with_third(c[1], _mm512_slli_epi16(high, 1));
        c[2] = with_third(c[2], high);
        c[3] = with_third(c[3], _mm512_srli_epi16(high, 1));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m128i v0 = scales6(b[0].scales), v1 = scales6(b[1].scales);
        const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(v0), v1, 1);
        return {two_d(b),
                zero(),
                {_mm512_cvtepi8_epi32(sum_order(v0)), _mm512_cvtepi8_epi32(sum_order(v1))},
                _mm512_cvtepi8_epi16(both)};
    }

    static GGUFX_INLINE V8 with_third(V8 two, V8 high) { // two | high & 4
        return _mm512_ternarylogic_epi64(two, high, _mm512_set1_epi8(4), 0xf8);
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
} // namespace avx512
} // namespace kernels
} // namespace ggufx
