// What the IQ types share on AVX-512: codes from grid rows and signs, scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/q2_k.hpp"
#include "kernels/loops/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// Codes + U::kOffset of 32-blocks j and 4 + j of a block.
template <class U> GGUFX_INLINE __m512i grid_codes(const typename U::Block &b, unsigned j) {
    const Grid32 lo = GridRows<typename U::Format>::load(b, j);
    const Grid32 hi = GridRows<typename U::Format>::load(b, 4 + j);
    const auto row = [](const Grid32 &g, unsigned l) __attribute__((always_inline)) {
        return static_cast<int64_t>(g.rows[l]);
    };
    const __m512i v = _mm512_setr_epi64(row(lo, 0), row(lo, 1), row(lo, 2), row(lo, 3), row(hi, 0),
                                        row(hi, 1), row(hi, 2), row(hi, 3));
    const __mmask64 minus = lo.signs | static_cast<uint64_t>(hi.signs) << 32;
    const __m512i offset = _mm512_set1_epi8(U::kOffset);
    if constexpr (kTernaryGrid<typename U::Format>) {
        const __m512i eight = _mm512_and_si512(_mm512_slli_epi16(v, 3), _mm512_set1_epi8(-8));
        const __m512i shift = _mm512_mask_mov_epi8(_mm512_set1_epi8(U::kOffset + 1), minus,
                                                   _mm512_set1_epi8(U::kOffset - 1));
        return _mm512_add_epi8(eight, shift);
    } else {
        return _mm512_mask_sub_epi8(_mm512_add_epi8(offset, v), minus, offset, v);
    }
}

template <class U>
GGUFX_INLINE void load_grid(__m512i (&c)[4], const typename U::Block *b, unsigned i) {
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) c[j] = grid_codes<U>(b[i], j);
}

// 2 * v + 1.
GGUFX_INLINE __m512i odd(__m512i v) {
    return _mm512_add_epi32(_mm512_add_epi32(v, v), Vec::set1_i(1));
}

// What fold and store_scales of 16 int8 scales each of two blocks want.
template <class S> GGUFX_INLINE S group_scales(Vec::Vf d, __m128i s0, __m128i s1) {
    return {d,
            {_mm512_cvtepi8_epi32(sum_order(s0)), _mm512_cvtepi8_epi32(sum_order(s1))},
            _mm512_cvtepi8_epi16(_mm256_inserti128_si256(_mm256_castsi128_si256(s0), s1, 1))};
}

// 2 * s + 1 of the nibbles of 8 bytes.
GGUFX_INLINE __m128i odd_nibbles(const uint8_t *scales) {
    const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(scales));
    const __m128i s = _mm_and_si128(_mm_unpacklo_epi8(v, _mm_srli_epi16(v, 4)), _mm_set1_epi8(15));
    return _mm_add_epi8(_mm_add_epi8(s, s), _mm_set1_epi8(1));
}

// The IQ2 types with nibbles of scales per 16.
template <class U, class F> struct NibbleScales : UnpackedGroups<U, Vec, F, 6, 64 + 43> {
    using Block = typename F::Block;
    using Scales = typename UnpackedGroups<U, Vec, F, 6, 64 + 43>::Scales;
    static GGUFX_INLINE void load_u8(__m512i (&c)[4], const Block *b, unsigned i) {
        load_grid<U>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return group_scales<Scales>(two_block_d(b), group_bytes(b[0]), group_bytes(b[1]));
    }
    static GGUFX_INLINE Vec::Vf two_block_d(const Block *b) {
        return Vec::mul(two_d(b), Vec::set1(0.125f));
    }
    static GGUFX_INLINE __m128i group_bytes(const Block &b) { return odd_nibbles(b.scales); }
    static GGUFX_INLINE void scales16(uint8_t *to, const Block &b) {
        _mm_store_si128(reinterpret_cast<__m128i *>(to), group_bytes(b));
    }
    static GGUFX_INLINE Vec::Vf block_d(const Block &b) {
        return Vec::mul(Vec::broadcast_f16(b.d), Vec::set1(0.125f));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
