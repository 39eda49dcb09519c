// MXFP4 on AVX-512: a shuffle looks up the doubled fp4 codes + 12; the scale is an exponent.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/mxfp4.hpp"
#include "kernels/avx512/iq4_nl.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// Doubled fp4 codes + 12 of 4-bit codes.
GGUFX_INLINE __m512i fp4_codes(__m512i nibbles) {
    const __m512i values = _mm512_add_epi8(codebook(fmt::kCodesFp4), _mm512_set1_epi8(12));
    return _mm512_shuffle_epi8(values, nibbles);
}

template <> struct Unpack<fmt::MXFP4> : PlainBlocks<Vec, fmt::MXFP4, 12, 24> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = fp4_codes(nibbles(b[8 * i + j].qs, b[8 * i + 4 + j].qs));
        }
    }
    // 2^(e - 128): subnormal for e = 0 and 1.
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) { return fp4_codes(v); }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const auto e = [b](unsigned i) { return static_cast<char>(b[i].e); };
        const __m512i v =
            _mm512_cvtepu8_epi32(_mm_setr_epi8(e(0), e(1), e(2), e(3), e(4), e(5), e(6), e(7), e(8),
                                               e(9), e(10), e(11), e(12), e(13), e(14), e(15)));
        const __m512i normal = _mm512_slli_epi32(_mm512_sub_epi32(v, set1_i(1)), 23);
        const __mmask16 is_small = _mm512_cmple_epi32_mask(v, set1_i(1));
        return {_mm512_castsi512_ps(_mm512_mask_sllv_epi32(normal, is_small, set1_i(1 << 21), v))};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
