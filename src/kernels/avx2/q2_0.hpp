// Q2_0 on AVX2: bytes of four neighbours, widened to 32 bits and spread by shifts.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q2_0.hpp"
#include "kernels/avx2/planes.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// n = 1..3: field p of all bytes is plane p.
struct Q2_0InPlanes : PlainBlocks<PlaneVec, fmt::Q2_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m128i first = load16(b[2 * i].qs), second = load16(b[2 * i + 1].qs);
        const V8 v = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
        const V8 low = _mm256_set1_epi8(3);
        c[0] = _mm256_and_si256(v, low);
        c[1] = _mm256_and_si256(_mm256_srli_epi16(v, 2), low);
        c[2] = _mm256_and_si256(_mm256_srli_epi16(v, 4), low);
        c[3] = _mm256_and_si256(_mm256_srli_epi16(v, 6), low);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d<2>(b)}; }
};

template <> struct Unpack<fmt::Q2_0> : PlainBlocks<Vec, fmt::Q2_0, 1, 3> {
    using InPlanes = Q2_0InPlanes;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const __m256i v = widen_u8(b[2 * i + j / 2].qs + 8 * (j % 2));
            const __m256i even = _mm256_or_si256(v, _mm256_slli_epi32(v, 12));
            const __m256i all = _mm256_or_si256(even, _mm256_slli_epi32(even, 6));
            c[j] = _mm256_and_si256(all, _mm256_set1_epi8(3));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d<2>(b)};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
