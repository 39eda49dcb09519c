// Q6_K on AVX2: a chunk is half a block, 64 bytes of low nibbles and 32 of 2-bit planes.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q6_k.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q6_K> : ScaledGroups<Vec, fmt::Q6_K, 5, 63> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const V8 first = load32(b->ql + 64 * i), second = load32(b->ql + 64 * i + 32);
        const V8 high = load32(b->qh + 32 * i);
        c[0] = six_bits(first, _mm256_slli_epi16(high, 4));
        c[1] = six_bits(second, _mm256_slli_epi16(high, 2));
        c[2] = six_bits(_mm256_srli_epi16(first, 4), high);
        c[3] = six_bits(_mm256_srli_epi16(second, 4), _mm256_srli_epi16(high, 2));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m128i scales = load16(b->scales);
        // lane L, element j of group_sums is group 2j + L of the chunk
        const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
        const __m128i s = _mm_shuffle_epi8(scales, order);
        return {broadcast_f16(b->d),
                {_mm256_cvtepi8_epi32(s), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(s, s))},
                _mm256_cvtepi8_epi16(scales)};
    }

    static GGUFX_INLINE V8 six_bits(V8 low, V8 high) {
        return _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi8(15)),
                               _mm256_and_si256(high, _mm256_set1_epi8(0x30)));
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
