// What the IQ types share on AVX2: codes of a chunk, scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/grid_rows.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <class U>
GGUFX_INLINE void load_grid(__m256i (&c)[4], const typename U::Block *b, unsigned i) {
    load_half<typename U::Format, U::kOffset>(c, *b, i);
}

// 2 * v + 1.
GGUFX_INLINE __m256i odd(__m256i v) {
    return _mm256_add_epi32(_mm256_add_epi32(v, v), Vec::set1_i(1));
}

// What fold and store_scales of 16 int8 scales want.
template <class S> GGUFX_INLINE S group_scales(Vec::Vf d, __m128i scales) {
    // lane L, element j of group_sums is group 2j + L of the chunk
    const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    const __m128i s = _mm_shuffle_epi8(scales, order);
    return {d,
            {_mm256_cvtepi8_epi32(s), _mm256_cvtepi8_epi32(_mm_unpackhi_epi64(s, s))},
            _mm256_cvtepi8_epi16(scales)};
}

// 2 * s + 1 of the nibbles of 8 bytes.
GGUFX_INLINE __m128i odd_nibbles(const uint8_t *scales) {
    const __m128i v = Vec::load8(scales);
    const __m128i s = _mm_and_si128(_mm_unpacklo_epi8(v, _mm_srli_epi16(v, 4)), _mm_set1_epi8(15));
    return _mm_add_epi8(_mm_add_epi8(s, s), _mm_set1_epi8(1));
}

// The IQ2 types with nibbles of scales per 16.
template <class U, class F> struct NibbleScales : UnpackedGroups<U, Vec, F, 6, 64 + 43> {
    using Block = typename F::Block;
    using Scales = typename UnpackedGroups<U, Vec, F, 6, 64 + 43>::Scales;
    static GGUFX_INLINE void load_u8(__m256i (&c)[4], const Block *b, unsigned i) {
        load_grid<U>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return group_scales<Scales>(block_d(*b), odd_nibbles(b->scales));
    }
    static GGUFX_INLINE void scales16(uint8_t *to, const Block &b) {
        _mm_store_si128(reinterpret_cast<__m128i *>(to), odd_nibbles(b.scales));
    }
    static GGUFX_INLINE Vec::Vf block_d(const Block &b) {
        return Vec::mul(Vec::broadcast_f16(b.d), Vec::set1(0.125f));
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
