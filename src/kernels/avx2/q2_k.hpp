// Q2_K on AVX2: the planes of TQ2_0, nibbles of scales and minimums per 16.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q2_k.hpp"
#include "kernels/avx2/tq2_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// Int8 scales of 16 groups in the order of group_sums.
GGUFX_INLINE __m128i sum_order(__m128i scales) {
    return _mm_shuffle_epi8(scales,
                            _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15));
}

template <> struct Unpack<fmt::Q2_K> : PackedGroups<Unpack<fmt::Q2_K>, Vec, fmt::Q2_K, 0, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes(c, b->qs + 32 * i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m128i v = load16(b->scales), s = sum_order(low_nibbles(v));
        return {broadcast_f16(b->d),
                broadcast_f16(b->dmin),
                {_mm256_cvtepi8_epi32(s), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(s, s))},
                _mm256_cvtepi8_epi16(low_nibbles(_mm_srli_epi16(v, 4)))};
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
} // namespace avx2
} // namespace kernels
} // namespace ggufx
