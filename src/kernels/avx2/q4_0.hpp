// Q4_0 on AVX2: 16 bytes twice in 32, the second copy shifted.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q4_0.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// 32 codes 0..15 from 16 bytes: low nibbles, then high nibbles.
GGUFX_INLINE __m256i nibbles(const uint8_t *qs) {
    const __m128i v = Vec::load16(qs);
    const __m256i both =
        _mm256_inserti128_si256(_mm256_castsi128_si256(v), _mm_srli_epi16(v, 4), 1);
    return _mm256_and_si256(both, _mm256_set1_epi8(15));
}

template <> struct Unpack<fmt::Q4_0> : PlainBlocks<Vec, fmt::Q4_0, 8, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = nibbles(b[4 * i + j].qs);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
