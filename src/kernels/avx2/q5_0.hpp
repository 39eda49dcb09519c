// Q5_0 on AVX2: nibbles and 32 fifth bits, spread to bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_0.hpp"
#include "kernels/avx2/q4_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// 0xff in byte i where bit i of the four bytes is set, else 0.
GGUFX_INLINE __m256i spread_bits(const uint8_t *p) {
    int32_t bits;
    __builtin_memcpy(&bits, p, sizeof bits);
    const __m256i bytes =
        _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
    const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
    const __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32(bits), bytes);
    return _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit);
}

// 16 in byte i where bit i of the four bytes is set.
GGUFX_INLINE __m256i fifth_bits(const uint8_t *qh) {
    return _mm256_and_si256(spread_bits(qh), _mm256_set1_epi8(16));
}

template <> struct Unpack<fmt::Q5_0> : PlainBlocks<Vec, fmt::Q5_0, 16, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const Block &block = b[4 * i + j];
            c[j] = _mm256_or_si256(nibbles(block.qs), fifth_bits(block.qh));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
