// Q2_0 on AVX-512: bytes of four neighbours, widened to 32 bits and spread by shifts.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q2_0.hpp"
#include "kernels/avx512/planes.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// n = 1..3: field p of all bytes is plane p.
struct Q2_0InPlanes : PlainBlocks<PlaneVec, fmt::Q2_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const auto block = [ b, i ](unsigned j) __attribute__((always_inline)) {
            return _mm_loadu_si128(reinterpret_cast<const __m128i *>(b[4 * i + j].qs));
        };
        __m512i v = _mm512_inserti32x4(_mm512_castsi128_si512(block(0)), block(1), 1);
        v = _mm512_inserti32x4(_mm512_inserti32x4(v, block(2), 2), block(3), 3);
        const __m512i low = _mm512_set1_epi8(3);
        c[0] = _mm512_and_si512(v, low);
        c[1] = _mm512_and_si512(_mm512_srli_epi16(v, 2), low);
        c[2] = _mm512_and_si512(_mm512_srli_epi16(v, 4), low);
        c[3] = _mm512_and_si512(_mm512_srli_epi16(v, 6), low);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d<2>(b)}; }
};

template <> struct Unpack<fmt::Q2_0> : PlainBlocks<Vec, fmt::Q2_0, 1, 3> {
    using InPlanes = Q2_0InPlanes;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const __m512i v = widen_halves(b[4 * i + j / 2].qs + 8 * (j % 2),
                                           b[4 * i + 2 + j / 2].qs + 8 * (j % 2));
            const __m512i even = _mm512_or_si512(v, _mm512_slli_epi32(v, 12));
            const __m512i all = _mm512_or_si512(even, _mm512_slli_epi32(even, 6));
            c[j] = _mm512_and_si512(all, _mm512_set1_epi8(3));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d<2>(b)};
    }

    // Eight bytes each, to 32 bits.
    static GGUFX_INLINE __m512i widen_halves(const uint8_t *low, const uint8_t *high) {
        const __m128i a = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(low));
        const __m128i b = _mm_loadl_epi64(reinterpret_cast<const __m128i *>(high));
        return _mm512_cvtepu8_epi32(_mm_unpacklo_epi64(a, b));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
