// TQ2_0 on AVX-512: the planes of two bits of both halves of a block side by side.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/tq2_0.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// Planes 0..3 of 64 bytes.
GGUFX_INLINE void two_bit_planes(__m512i (&c)[4], const uint8_t *qs) {
    const __m512i v = _mm512_loadu_si512(qs), low = _mm512_set1_epi8(3);
    c[0] = _mm512_and_si512(v, low);
    c[1] = _mm512_and_si512(_mm512_srli_epi16(v, 2), low);
    c[2] = _mm512_and_si512(_mm512_srli_epi16(v, 4), low);
    c[3] = _mm512_and_si512(_mm512_srli_epi16(v, 6), low);
}

template <> struct Unpack<fmt::TQ2_0> : PlainBlocks<Vec, fmt::TQ2_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes(c, b[i].qs);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {two_d(b)}; }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
