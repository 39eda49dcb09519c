// AVX-512 primitives to quantize blocks, in addition to encode_vec.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/encode_vec.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

struct QuantVec : EncodeVec {
    static GGUFX_INLINE Mask differ(Vf a, Vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
    static GGUFX_INLINE Vf about_inverse(Vf v) { return _mm512_rcp14_ps(v); } // at least 11 bits
    static GGUFX_INLINE uint32_t bits(Mask m) { return m; }
    // (v & mask) | set
    static GGUFX_INLINE Vi replace(Vi v, Vi mask, Vi set) {
        return _mm512_ternarylogic_epi32(v, mask, set, 0xea);
    }
    static GGUFX_INLINE Vf add_where(Mask m, Vf sum, Vf v) {
        return _mm512_mask_add_ps(sum, m, sum, v);
    }
    static GGUFX_INLINE Vi max_bits(Vi a, Vi b) { return _mm512_max_epu32(a, b); }
    // Stores lanes with values 0 .. 65535 as words.
    static GGUFX_INLINE void store_words(uint8_t *to, Vi v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm512_cvtepi32_epi16(v));
    }
    static GGUFX_INLINE Vi widen_u16(const uint16_t *p) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
    }
    // Lane i: the lanes of r[i] reduced by op, which is commutative and associative.
    template <class Op> static GGUFX_INLINE Vf fold(Vf (&r)[16], Op op) {
        Vf half[8], whole[4];
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) { // r[a] and r[a + 4]
            const unsigned a = i / 4 * 8 + i % 4;
            half[i] = op(_mm512_mask_blend_ps(0xff00, r[a], r[a + 4]),
                         _mm512_shuffle_f32x4(r[a], r[a + 4], 0x4e));
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++)
            whole[i] = op(_mm512_shuffle_f32x4(half[i], half[i + 4], 0x88),
                          _mm512_shuffle_f32x4(half[i], half[i + 4], 0xdd));
        const Vf even =
            op(_mm512_unpacklo_ps(whole[0], whole[1]), _mm512_unpackhi_ps(whole[0], whole[1]));
        const Vf odd =
            op(_mm512_unpacklo_ps(whole[2], whole[3]), _mm512_unpackhi_ps(whole[2], whole[3]));
        return op(_mm512_shuffle_ps(even, odd, 0x44), _mm512_shuffle_ps(even, odd, 0xee));
    }
    // Selects one of Room (4 or 8) floats by the low bits of each lane.
    template <int Room> static GGUFX_INLINE Vf look_up(const float *table, Vi index) {
        if constexpr (Room == 4) return choose(load_four(table), index);
        return _mm512_permutexvar_ps(index, _mm512_broadcast_f32x8(_mm256_loadu_ps(table)));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
