// Q6_K on AVX-512: low nibbles and 2-bit planes of both halves of a block side by side.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q6_k.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::Q6_K> : ScaledGroups<Vec, fmt::Q6_K, 5, 63> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8_t *ql = b[i].ql;
        const V8 even = load_halves(ql, ql + 64), odd = load_halves(ql + 32, ql + 96);
        const V8 high = _mm512_loadu_si512(b[i].qh);
        c[0] = six_bits(even, _mm512_slli_epi16(high, 4));
        c[1] = six_bits(odd, _mm512_slli_epi16(high, 2));
        c[2] = six_bits(_mm512_srli_epi16(even, 4), high);
        c[3] = six_bits(_mm512_srli_epi16(odd, 4), _mm512_srli_epi16(high, 2));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m128i s0 = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b[0].scales));
        const __m128i s1 = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b[1].scales));
        const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(s0), s1, 1);
        // lane L, element j of group_sums is group 2j + L of the block, from L = 2 on 4 + 2j + L
        const __m128i order = _mm_setr_epi8(0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
        const __m512i d = _mm512_castps_si512(broadcast_f16(b[0].d));
        return {_mm512_castsi512_ps(
                    _mm512_mask_mov_epi32(d, 0xff00, _mm512_castps_si512(broadcast_f16(b[1].d)))),
                {_mm512_cvtepi8_epi32(_mm_shuffle_epi8(s0, order)),
                 _mm512_cvtepi8_epi32(_mm_shuffle_epi8(s1, order))},
                _mm512_cvtepi8_epi16(both)};
    }

    static GGUFX_INLINE V8 six_bits(V8 low, V8 high) {
        const V8 two = _mm512_and_si512(high, _mm512_set1_epi8(0x30));
        return _mm512_ternarylogic_epi64(two, low, _mm512_set1_epi8(15), 0xf8); // two | low & 15
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
