// AVX-512 primitives to quantize KV pages, in addition to kv_vec.hpp: comparisons, divisions, and
// conversions that round as in the reference definition.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/kv_vec.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

struct EncodeVec : KvVec {
    using Mask = __mmask16;

    static GGUFX_INLINE Vi as_int(Vf v) { return _mm512_castps_si512(v); }
    static GGUFX_INLINE Vf as_float(Vi v) { return _mm512_castsi512_ps(v); }
    static GGUFX_INLINE Mask lt(Vf a, Vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LT_OQ); }
    static GGUFX_INLINE Mask le(Vf a, Vf b) { return _mm512_cmp_ps_mask(a, b, _CMP_LE_OQ); }
    static GGUFX_INLINE Mask both(Mask a, Mask b) { return static_cast<Mask>(a & b); }
    static GGUFX_INLINE Vf pick(Mask m, Vf a, Vf b) { return _mm512_mask_mov_ps(b, m, a); }
    static GGUFX_INLINE Vi pick_i(Mask m, Vi a, Vi b) { return _mm512_mask_mov_epi32(b, m, a); }
    static GGUFX_INLINE Vf lesser(Vf a, Vf b) { return _mm512_min_ps(a, b); } // a < b ? a : b
    // `to` in lanes of m, where it is greater than `from`; `from` in the others.
    static GGUFX_INLINE Vi raise(Mask m, int to, Vi from) { return pick_i(m, set1_i(to), from); }
    static GGUFX_INLINE Vf raise(Mask m, float to, Vf from) { return pick(m, set1(to), from); }
    // The level after `level` in lanes of m, where `level` is `at`; both are small integers.
    static GGUFX_INLINE Vf next_level(Mask m, float, float to, Vf level) {
        return pick(m, set1(to), level);
    }
    static GGUFX_INLINE Vi count(Mask m, Vi n) { // n + 1 in lanes of m
        return _mm512_mask_add_epi32(n, m, n, set1_i(1));
    }
    static GGUFX_INLINE Vf with_sign_of(float magnitude, Vf v) {
        return as_float(or_i(and_i(as_int(v), set1_i(INT32_MIN)), as_int(set1(magnitude))));
    }
    static GGUFX_INLINE Vf greater(Vf a, Vf b) { return _mm512_max_ps(a, b); } // a > b ? a : b
    static GGUFX_INLINE Vf div(Vf a, Vf b) { return _mm512_div_ps(a, b); }
    static GGUFX_INLINE Vf sqrt(Vf v) { return _mm512_sqrt_ps(v); }
    static GGUFX_INLINE Vf absolute(Vf v) { return _mm512_abs_ps(v); }
    static GGUFX_INLINE Vf flip(Vf v) { return flip_where(v, set1_i(INT32_MIN)); }
    static GGUFX_INLINE Vi min_i(Vi a, Vi b) { return _mm512_min_epi32(a, b); }
    // Truncates; INT32_MIN for NaN and out-of-range values.
    static GGUFX_INLINE Vi to_int(Vf v) { return _mm512_cvttps_epi32(v); }
    static GGUFX_INLINE Vi shift_right_by(Vi v, Vi n) { return _mm512_srlv_epi32(v, n); }

    static GGUFX_INLINE Vf round_half(Vf v) {
        return _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    static GGUFX_INLINE void store_half(uint8_t *to, Vf v) {
        _mm256_storeu_si256(reinterpret_cast<__m256i *>(to),
                            _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    // Stores lanes with values 0 .. 255 as bytes.
    static GGUFX_INLINE void store_bytes(uint8_t *to, Vi v) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to), _mm512_cvtepi32_epi8(v));
    }
    // Four floats; choose() selects one per lane.
    static GGUFX_INLINE Vf load_four(const float *four) {
        return _mm512_broadcast_f32x4(_mm_loadu_ps(four));
    }
    static GGUFX_INLINE Vf choose(Vf four, Vi index) { return _mm512_permutexvar_ps(index, four); }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
