// What both x86 sets do with 16 and 32 bytes of a block.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

#include <immintrin.h>

namespace ggufx {
namespace kernels {
namespace {

struct X86Bytes {
    using Half = __m256i; // 32 bytes

    static GGUFX_INLINE __m128i load8(const void *p) {
        return _mm_loadl_epi64(static_cast<const __m128i *>(p));
    }
    static GGUFX_INLINE __m128i load16(const void *p) {
        return _mm_loadu_si128(static_cast<const __m128i *>(p));
    }
    static GGUFX_INLINE Half load_half(const void *p) {
        return _mm256_loadu_si256(static_cast<const __m256i *>(p));
    }
    static GGUFX_INLINE __m256i two_of_16(__m128i a, __m128i b) {
        return _mm256_inserti128_si256(_mm256_castsi128_si256(a), b, 1);
    }
    static GGUFX_INLINE Half triple(Half v) { return _mm256_add_epi8(v, _mm256_add_epi8(v, v)); }
    // 16 bytes and their triples.
    static GGUFX_INLINE Half with_triple(const uint8_t *p) {
        const __m256i v = _mm256_broadcastsi128_si256(load16(p));
        return _mm256_blend_epi32(v, triple(v), 0xf0);
    }
    // The first half of `first`, then four bytes times 1, 3, 9, 27.
    static GGUFX_INLINE Half with_powers(Half first, const uint8_t *p) {
        int32_t four;
        __builtin_memcpy(&four, p, sizeof four);
        const __m256i v = _mm256_set1_epi32(four), v3 = triple(v), v9 = triple(v3);
        const __m256i powers = _mm256_blend_epi32(_mm256_blend_epi32(v, v3, 0x22),
                                                  _mm256_blend_epi32(v9, triple(v9), 0x88), 0xcc);
        return _mm256_blend_epi32(first, powers, 0xf0);
    }
};

// Products of tiles where one instruction adds four products to a sum: K::dot(sum, codes, values).
struct DotTiles {
    // sums[m][c] += codes (four per lane, vector i * M + m of u) times activations of column c
    // (four, q + 4 * Columns * i + 4 * c), i = 0 .. Quads - 1.
    template <class K, size_t Quads, class Vi, unsigned M, unsigned Columns>
    static GGUFX_INLINE void add_products(Vi (&sums)[M][Columns], const uint8_t *u,
                                          const int8_t *q) {
        static_assert(!K::kSigned);
#pragma GCC unroll 8
        for (size_t i = 0; i < Quads; i++) {
            Vi w[M];
#pragma GCC unroll 2
            for (unsigned m = 0; m < M; m++) w[m] = K::load_i(u + (i * M + m) * sizeof(Vi));
#pragma GCC unroll 8
            for (unsigned c = 0; c < Columns; c++) {
                int32_t four;
                __builtin_memcpy(&four, q + (i * Columns + c) * 4, 4);
                const Vi a = K::set1_i(four);
#pragma GCC unroll 2
                for (unsigned m = 0; m < M; m++) sums[m][c] = K::dot(sums[m][c], w[m], a);
            }
        }
    }
};

} // namespace
} // namespace kernels
} // namespace ggufx
