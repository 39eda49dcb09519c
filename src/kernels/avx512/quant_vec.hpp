// What encoding blocks needs of AVX-512 beside encode_vec.hpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/encode_vec.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

struct QuantVec : EncodeVec {
    static GGUFX_INLINE Vf lesser(Vf a, Vf b) { return _mm512_min_ps(a, b); } // a < b ? a : b
    static GGUFX_INLINE Mask differ(Vf a, Vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_NEQ_UQ); }
    static GGUFX_INLINE Vf about_inverse(Vf v) { return _mm512_rcp14_ps(v); } // to 11 bits
    static GGUFX_INLINE uint32_t bits(Mask m) { return m; }
    // (v & mask) | set
    static GGUFX_INLINE Vi replace(Vi v, Vi mask, Vi set) {
        return _mm512_ternarylogic_epi32(v, mask, set, 0xea);
    }
    static GGUFX_INLINE Vf add_where(Mask m, Vf sum, Vf v) {
        return _mm512_mask_add_ps(sum, m, sum, v);
    }
    static GGUFX_INLINE Vi max_bits(Vi a, Vi b) { return _mm512_max_epu32(a, b); }
    // Lanes 0 .. 65535 to words.
    static GGUFX_INLINE void store_words(uint8_t *to, Vi v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(to), _mm512_cvtepi32_epi16(v));
    }
    static GGUFX_INLINE Vi widen_u16(const uint16_t *p) {
        return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i *>(p)));
    }
    // Of Room (4 or 8) floats the one that the low bits of each lane say.
    template <int Room> static GGUFX_INLINE Vf look_up(const float *table, Vi index) {
        if constexpr (Room == 4) return choose(load_four(table), index);
        return _mm512_permutexvar_ps(index, _mm512_broadcast_f32x8(_mm256_loadu_ps(table)));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
