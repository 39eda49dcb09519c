// Q2_0 on AVX2: bytes of four neighbours, widened to 32 bits and spread by shifts.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q2_0.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q2_0> : PlainBlocks<Vec, fmt::Q2_0, 1, 3> {
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
