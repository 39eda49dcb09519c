// AVX2 primitives to quantize blocks, in addition to encode_vec.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/encode_vec.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

struct QuantVec : EncodeVec {
    static GGUFX_INLINE Mask differ(Vf a, Vf b) { return _mm256_cmp_ps(a, b, _CMP_NEQ_UQ); }
    static GGUFX_INLINE Vf about_inverse(Vf v) { return _mm256_rcp_ps(v); } // at least 11 bits
    static GGUFX_INLINE uint32_t bits(Mask m) {
        return static_cast<uint32_t>(_mm256_movemask_ps(m));
    }
    // (v & mask) | set
    static GGUFX_INLINE Vi replace(Vi v, Vi mask, Vi set) { return or_i(and_i(v, mask), set); }
    static GGUFX_INLINE Vf add_where(Mask m, Vf sum, Vf v) { return add(sum, _mm256_and_ps(m, v)); }
    static GGUFX_INLINE Vi max_bits(Vi a, Vi b) { return _mm256_max_epu32(a, b); }
    // Stores lanes with values 0 .. 65535 as words.
    static GGUFX_INLINE void store_words(uint8_t *to, Vi v) {
        _mm_storeu_si128(
            reinterpret_cast<__m128i *>(to),
            _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1)));
    }
    static GGUFX_INLINE Vi widen_u16(const uint16_t *p) {
        return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i *>(p)));
    }
    // Lane i: the lanes of r[i] reduced by op, which is commutative and associative.
    template <class Op> static GGUFX_INLINE Vf fold(Vf (&r)[8], Op op) {
        Vf whole[4];
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++)
            whole[i] = op(_mm256_blend_ps(r[i], r[i + 4], 0xf0),
                          _mm256_permute2f128_ps(r[i], r[i + 4], 0x21));
        const Vf even =
            op(_mm256_unpacklo_ps(whole[0], whole[1]), _mm256_unpackhi_ps(whole[0], whole[1]));
        const Vf odd =
            op(_mm256_unpacklo_ps(whole[2], whole[3]), _mm256_unpackhi_ps(whole[2], whole[3]));
        return op(_mm256_shuffle_ps(even, odd, 0x44), _mm256_shuffle_ps(even, odd, 0xee));
    }
    // Selects one of Room (4 or 8) floats by the low bits of each lane.
    template <int Room> static GGUFX_INLINE Vf look_up(const float *table, Vi index) {
        if constexpr (Room == 4) return choose(load_four(table), index);
        return _mm256_permutevar8x32_ps(_mm256_loadu_ps(table), index);
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
