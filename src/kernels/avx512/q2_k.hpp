// Q2_K on AVX-512: the planes of TQ2_0, nibbles of scales and minimums per 16.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q2_k.hpp"
#include "kernels/avx512/tq2_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// Int8 scales of 16 groups of a block in the order of group_sums.
GGUFX_INLINE __m128i sum_order(__m128i scales) {
    return _mm_shuffle_epi8(scales,
                            _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
}

template <> struct Unpack<fmt::Q2_K> : PackedGroups<Unpack<fmt::Q2_K>, Vec, fmt::Q2_K, 0, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes(c, b[i].qs);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m128i v0 = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b[0].scales));
        const __m128i v1 = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b[1].scales));
        const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(v0), v1, 1);
        const __m256i mins = _mm256_and_si256(_mm256_srli_epi16(both, 4), _mm256_set1_epi8(15));
        return {two_d(b),
                _mm512_mask_mov_ps(broadcast_f16(b[0].dmin), 0xff00, broadcast_f16(b[1].dmin)),
                {_mm512_cvtepi8_epi32(sum_order(low_nibbles(v0))),
                 _mm512_cvtepi8_epi32(sum_order(low_nibbles(v1)))},
                _mm512_cvtepi8_epi16(mins)};
    }

    static GGUFX_INLINE __m128i low_nibbles(__m128i v) {
        return _mm_and_si128(v, _mm_set1_epi8(15));
    }
    static GGUFX_INLINE GroupScales group_scales(const Block &b) {
        GroupScales to;
        const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b.scales));
        _mm_store_si128(reinterpret_cast<__m128i *>(to.scale), low_nibbles(v));
        _mm_store_si128(reinterpret_cast<__m128i *>(to.min), low_nibbles(_mm_srli_epi16(v, 4)));
        return to;
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
