// AVX2 primitives to quantize KV pages, in addition to kv_vec.hpp: comparisons, divisions, and
// conversions that round as in the reference definition.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/kv_vec.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

struct EncodeVec : KvVec {
    using Mask = __m256;

    static GGUFX_INLINE Vi as_int(Vf v) { return _mm256_castps_si256(v); }
    static GGUFX_INLINE Vf as_float(Vi v) { return _mm256_castsi256_ps(v); }
    static GGUFX_INLINE Mask lt(Vf a, Vf b) { return _mm256_cmp_ps(a, b, _CMP_LT_OQ); }
    static GGUFX_INLINE Mask le(Vf a, Vf b) { return _mm256_cmp_ps(a, b, _CMP_LE_OQ); }
    static GGUFX_INLINE Mask both(Mask a, Mask b) { return _mm256_and_ps(a, b); }
    static GGUFX_INLINE Vf pick(Mask m, Vf a, Vf b) { return _mm256_blendv_ps(b, a, m); }
    static GGUFX_INLINE Vi pick_i(Mask m, Vi a, Vi b) {
        return as_int(pick(m, as_float(a), as_float(b)));
    }
    static GGUFX_INLINE Vf lesser(Vf a, Vf b) { return _mm256_min_ps(a, b); } // a < b ? a : b
    // vblendvps takes three micro-operations; these functions avoid it.
    // `to` in lanes of m, where it is greater than `from`; `from` (not negative) in the others.
    static GGUFX_INLINE Vi raise(Mask m, int to, Vi from) {
        return _mm256_max_epi32(and_i(as_int(m), set1_i(to)), from);
    }
    static GGUFX_INLINE Vf raise(Mask m, float to, Vf from) {
        return _mm256_max_ps(_mm256_and_ps(m, set1(to)), from);
    }
    // The level after `level` in lanes of m, where `level` is `at`; both are small integers.
    static GGUFX_INLINE Vf next_level(Mask m, float at, float to, Vf level) {
        return add(level, _mm256_and_ps(m, set1(to - at)));
    }
    // n + 1 in lanes of m.
    static GGUFX_INLINE Vi count(Mask m, Vi n) { return sub_i(n, as_int(m)); }
    static GGUFX_INLINE Vf with_sign_of(float magnitude, Vf v) {
        return as_float(or_i(and_i(as_int(v), set1_i(INT32_MIN)), as_int(set1(magnitude))));
    }
    static GGUFX_INLINE Vf greater(Vf a, Vf b) { return _mm256_max_ps(a, b); } // a > b ? a : b
    static GGUFX_INLINE Vf div(Vf a, Vf b) { return _mm256_div_ps(a, b); }
    static GGUFX_INLINE Vf sqrt(Vf v) { return _mm256_sqrt_ps(v); }
    static GGUFX_INLINE Vf absolute(Vf v) { return as_float(and_i(as_int(v), set1_i(INT32_MAX))); }
    static GGUFX_INLINE Vf flip(Vf v) { return flip_where(v, set1_i(INT32_MIN)); }
    static GGUFX_INLINE Vi min_i(Vi a, Vi b) { return _mm256_min_epi32(a, b); }
    // Truncates; INT32_MIN for NaN and out-of-range values.
    static GGUFX_INLINE Vi to_int(Vf v) { return _mm256_cvttps_epi32(v); }
    static GGUFX_INLINE Vi shift_right_by(Vi v, Vi n) { return _mm256_srlv_epi32(v, n); }

    static GGUFX_INLINE Vf round_half(Vf v) {
        return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    static GGUFX_INLINE void store_half(uint8_t *to, Vf v) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(to),
                         _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
    }
    // Stores lanes with values 0 .. 255 as bytes.
    static GGUFX_INLINE void store_bytes(uint8_t *to, Vi v) {
        const __m128i words =
            _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
        _mm_storel_epi64(reinterpret_cast<__m128i *>(to), _mm_packus_epi16(words, words));
    }
    // Four floats; choose() selects one per lane.
    static GGUFX_INLINE Vf load_four(const float *four) {
        return _mm256_broadcast_ps(reinterpret_cast<const __m128 *>(four));
    }
    static GGUFX_INLINE Vf choose(Vf four, Vi index) { return _mm256_permutevar_ps(four, index); }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
