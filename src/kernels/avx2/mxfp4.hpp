// MXFP4 on AVX2: a shuffle looks up the doubled fp4 codes + 12; the scale is an exponent.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/mxfp4.hpp"
#include "kernels/avx2/iq4_nl.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// Doubled fp4 codes + 12 of 4-bit codes.
GGUFX_INLINE __m256i fp4_codes(__m256i nibbles) {
    const __m256i values = _mm256_add_epi8(codebook(fmt::kCodesFp4), _mm256_set1_epi8(12));
    return _mm256_shuffle_epi8(values, nibbles);
}

template <> struct Unpack<fmt::MXFP4> : PlainBlocks<Vec, fmt::MXFP4, 12, 24> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = fp4_codes(nibbles(b[4 * i + j].qs));
    }
    // 2^(e - 128): subnormal for e = 0 and 1.
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) { return fp4_codes(v); }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const auto e = [b](unsigned i) { return static_cast<int>(b[i].e); };
        const __m256i v = _mm256_setr_epi32(e(0), e(1), e(2), e(3), e(4), e(5), e(6), e(7));
        const __m256i normal = _mm256_slli_epi32(_mm256_sub_epi32(v, set1_i(1)), 23);
        const __m256i small = _mm256_sllv_epi32(set1_i(1 << 21), v);
        const __m256i is_normal = _mm256_cmpgt_epi32(v, set1_i(1));
        return {_mm256_castsi256_ps(_mm256_blendv_epi8(small, normal, is_normal))};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
