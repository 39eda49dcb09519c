// TQ2_0 on AVX2: four planes of two bits in 32 bytes; one scale per 256 values.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/tq2_0.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// Planes 0..3 of 32 bytes.
GGUFX_INLINE void two_bit_planes(__m256i (&c)[4], const uint8_t *qs) {
    const __m256i v = Vec::load32(qs), low = _mm256_set1_epi8(3);
    c[0] = _mm256_and_si256(v, low);
    c[1] = _mm256_and_si256(_mm256_srli_epi16(v, 2), low);
    c[2] = _mm256_and_si256(_mm256_srli_epi16(v, 4), low);
    c[3] = _mm256_and_si256(_mm256_srli_epi16(v, 6), low);
}

template <> struct Unpack<fmt::TQ2_0> : PlainBlocks<Vec, fmt::TQ2_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes(c, b->qs + 32 * i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {broadcast_f16(b->d)}; }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
