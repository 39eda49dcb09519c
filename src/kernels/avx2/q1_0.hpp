// Q1_0 on AVX2: bits spread to bytes, 0 or 2.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q1_0.hpp"
#include "kernels/avx2/planes.hpp"
#include "kernels/avx2/q5_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// n = 1..3: bit p of all nibbles is plane p.
struct Q1_0InPlanes : PlainBlocks<PlaneVec, fmt::Q1_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const V8 bytes = _mm256_cvtepu8_epi16(load16(b[i].qs));
        const V8 v = _mm256_or_si256(bytes, _mm256_slli_epi16(bytes, 4)); // a nibble per byte
        const V8 two = _mm256_set1_epi8(2);
        c[0] = _mm256_and_si256(_mm256_add_epi8(v, v), two);
        c[1] = _mm256_and_si256(v, two);
        c[2] = _mm256_and_si256(_mm256_srli_epi16(v, 1), two);
        c[3] = _mm256_and_si256(_mm256_srli_epi16(v, 2), two);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d<4>(b)}; }
};

template <> struct Unpack<fmt::Q1_0> : PlainBlocks<Vec, fmt::Q1_0, 1, 3> {
    using InPlanes = Q1_0InPlanes;
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
