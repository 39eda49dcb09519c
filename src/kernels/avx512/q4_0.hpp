// Q4_0 on AVX-512: 16 bytes twice in 32, the second copy shifted.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q4_0.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// Codes 0..15 of two 32-blocks from 16 bytes each: low nibbles, then high nibbles.
GGUFX_INLINE __m512i nibbles(const uint8_t *first, const uint8_t *second) {
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i *>(first));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i *>(second));
    const __m512i both = _mm512_mask_broadcast_i32x4(_mm512_broadcast_i32x4(a), 0xff00, b);
    const __m512i shifts = _mm512_setr_epi64(0, 0, 0x0004000400040004, 0x0004000400040004, 0, 0,
                                             0x0004000400040004, 0x0004000400040004);
    return _mm512_and_si512(_mm512_srlv_epi16(both, shifts), _mm512_set1_epi8(15));
}

template <> struct Unpack<fmt::Q4_0> : PlainBlocks<Vec, fmt::Q4_0, 8, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = nibbles(b[8 * i + j].qs, b[8 * i + 4 + j].qs);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
