// TQ1_0 on AVX-512: trits are read from the top of a byte, which is then tripled: 5 trits of 32
// bytes, 5 of 16 bytes, 4 of 4 bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/tq1_0.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::TQ1_0> : PlainBlocks<Vec, fmt::TQ1_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const Block &block = b[i];
        const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(block.qs));
        const __m256i v3 = triple(v), v9 = triple(v3), v27 = triple(v9);
        const __m256i half = _mm256_broadcastsi128_si256(
            _mm_loadu_si128(reinterpret_cast<const __m128i *>(block.qs + 32)));
        const __m256i first = _mm256_blend_epi32(half, triple(half), 0xf0);
        const __m256i second = triple(triple(first)), third = triple(triple(second));
        c[0] = top_trits(v, triple(v27));
        c[1] = top_trits(v3, first);
        c[2] = top_trits(v9, second);
        c[3] = top_trits(v27, _mm256_blend_epi32(third, last_bytes(block.qh), 0xf0));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {two_d(b)}; }

    static GGUFX_INLINE __m256i triple(__m256i v) {
        return _mm256_add_epi8(v, _mm256_add_epi8(v, v));
    }
    // 3 * v / 256 of two vectors
    static GGUFX_INLINE V8 top_trits(__m256i low, __m256i high) {
        const V8 v = _mm512_inserti64x4(_mm512_castsi256_si512(low), high, 1);
        const V8 one = _mm512_set1_epi8(1);
        const V8 some = _mm512_min_epu8(_mm512_subs_epu8(v, _mm512_set1_epi8(85)), one);
        const V8 two = _mm512_subs_epu8(v, _mm512_set1_epi8(static_cast<char>(170)));
        return _mm512_add_epi8(some, _mm512_min_epu8(two, one));
    }
    // Four bytes times 1, 3, 9, 27 in each half.
    static GGUFX_INLINE __m256i last_bytes(const uint8_t *qh) {
        int32_t four;
        __builtin_memcpy(&four, qh, sizeof four);
        const __m256i v = _mm256_set1_epi32(four), v3 = triple(v), v9 = triple(v3);
        return _mm256_blend_epi32(_mm256_blend_epi32(v, v3, 0x22),
                                  _mm256_blend_epi32(v9, triple(v9), 0x88), 0xcc);
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
