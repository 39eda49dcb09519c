// Q1_0 on AVX2: bits spread to bytes, 0 or 2.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q1_0.hpp"
#include "kernels/avx2/q5_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q1_0> : PlainBlocks<Vec, fmt::Q1_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = _mm256_and_si256(spread_bits(b[i].qs + 4 * j), _mm256_set1_epi8(2));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d<4>(b)};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
