// Shared parts of both x86 sets: operations on 16 and 32 bytes of a block, and products.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/traits.hpp"
#include "kernels/loops/bytes.hpp"
#include "kernels/loops/common.hpp"

#include <immintrin.h>

namespace ggufx::kernels {
namespace {

struct X86Bytes {
    using Half = __m256i; // 32 bytes
    using RowWords = VectorOf<uint16_t, 32>::Type;

    static GGUFX_INLINE __m128i load8(const void *p) {
        return _mm_loadl_epi64(static_cast<const __m128i *>(p));
    }
    static GGUFX_INLINE __m128i load16(const void *p) {
        return _mm_loadu_si128(static_cast<const __m128i *>(p));
    }
    static GGUFX_INLINE RowWords widen_row_words(const uint8_t *p) {
        return (RowWords)_mm256_cvtepu8_epi16(load16(p));
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
        const __m256i v = _mm256_set1_epi32(load_i32le(p)), v3 = triple(v), v9 = triple(v3);
        const __m256i powers = _mm256_blend_epi32(_mm256_blend_epi32(v, v3, 0x22),
                                                  _mm256_blend_epi32(v9, triple(v9), 0x88), 0xcc);
        return _mm256_blend_epi32(first, powers, 0xf0);
    }
};

// Sixteen bytes of each of two halves or 256-blocks.
struct X86Halves : X86Bytes {
    using Sixteen = VectorOf<uint8_t, 32>::Type;

    static constexpr unsigned in_half(unsigned, unsigned) { return 0; }
    static GGUFX_INLINE Sixteen load_sixteen(const uint8_t *p, size_t far) {
        return (Sixteen)two_of_16(load16(p), load16(p + far));
    }
    static GGUFX_INLINE Sixteen load_eights(const uint8_t *p, size_t far) {
        return (Sixteen)two_of_16(load8(p), load8(p + far));
    }
    // Byte k becomes byte I[k] of each 16; -1: zero.
    template <int... I> static GGUFX_INLINE Sixteen pick(Sixteen v) {
        return (Sixteen)_mm256_shuffle_epi8((__m256i)v,
                                            _mm256_broadcastsi128_si256(_mm_setr_epi8(I...)));
    }
    static GGUFX_INLINE Sixteen pick_at(Sixteen v, Sixteen index) {
        return (Sixteen)_mm256_shuffle_epi8((__m256i)v, (__m256i)index);
    }
};

// Arithmetic on registers of Bytes bytes as compiler vectors. (32-bit integers use the integer type
// of the intrinsics.)
template <size_t Bytes> struct LaneMath {
    using F = typename VectorOf<float, Bytes>::Type;
    using I = typename VectorOf<long long, Bytes>::Type;
    using Signed = typename VectorOf<int32_t, Bytes>::Type;
    using Modular = typename VectorOf<uint32_t, Bytes>::Type; // wraps around

    static GGUFX_INLINE F add(F a, F b) { return a + b; }
    static GGUFX_INLINE F sub(F a, F b) { return a - b; }
    static GGUFX_INLINE F mul(F a, F b) { return a * b; }
    static GGUFX_INLINE F to_float(I v) { return __builtin_convertvector((Signed)v, F); }
    static GGUFX_INLINE F as_float(I v) { return (F)v; }
    static GGUFX_INLINE I add_i(I a, I b) { return (I)((Modular)a + (Modular)b); }
    static GGUFX_INLINE I sub_i(I a, I b) { return (I)((Modular)a - (Modular)b); }
    static GGUFX_INLINE I mul_i(I a, I b) { return (I)((Modular)a * (Modular)b); }
    static GGUFX_INLINE I and_i(I a, int32_t b) { return (I)((Signed)a & b); }
    template <int N> static GGUFX_INLINE I shift_left(I v) { return (I)((Modular)v << N); }
    template <int N> static GGUFX_INLINE I shift_right(I v) { return (I)((Signed)v >> N); }
};

// Returns the first four bytes of a block: d and, in some formats, m.
template <class Block> GGUFX_INLINE int32_t first_word(const Block &b) {
    static_assert(__builtin_offsetof(Block, d) == 0);
    return load_i32le(&b);
}

// Element j of 128-bit lane L: the sum of lane L of vector j, as T.
template <class T> GGUFX_INLINE __m256i lane_sums(const __m256i (&p)[4]) {
    using Lanes = typename VectorOf<T, 32>::Type;
    const auto add = [](__m256i a, __m256i b) __attribute__((always_inline)) {
        return (__m256i)((Lanes)a + (Lanes)b);
    };
    const __m256i t0 = add(_mm256_unpacklo_epi32(p[0], p[1]), _mm256_unpackhi_epi32(p[0], p[1]));
    const __m256i t1 = add(_mm256_unpacklo_epi32(p[2], p[3]), _mm256_unpackhi_epi32(p[2], p[3]));
    return add(_mm256_unpacklo_epi64(t0, t1), _mm256_unpackhi_epi64(t0, t1));
}

// Table for scale_codes of the sets, in each 16 bytes: the words of codes 0..7 for a scale (times
// 256 in each word). (code - Offset) * scale + Add, low bytes; Turn negates the product.
template <int Offset, bool Turn, int Add, class V8> GGUFX_INLINE V8 multiples(V8 scale) {
    using Words = As<uint16_t, V8>;
    const Words codes = repeat<V8, uint16_t, 0, 1, 2, 3, 4, 5, 6, 7>();
    const Words factors = Turn ? Offset - codes : codes - Offset;
    return (V8)(((Words)scale * factors + Add * 256) >> 8);
}

// Element r of out: the maximum of the lanes of m[r]; or their sum.
GGUFX_INLINE void store_largest_of4(void *out, const __m128i (&m)[4]) {
    const __m128i low =
        _mm_max_epi32(_mm_unpacklo_epi32(m[0], m[1]), _mm_unpackhi_epi32(m[0], m[1]));
    const __m128i high =
        _mm_max_epi32(_mm_unpacklo_epi32(m[2], m[3]), _mm_unpackhi_epi32(m[2], m[3]));
    _mm_store_si128(static_cast<__m128i *>(out),
                    _mm_max_epi32(_mm_unpacklo_epi64(low, high), _mm_unpackhi_epi64(low, high)));
}
GGUFX_INLINE void store_sums_of4(void *out, const __m128i (&m)[4]) {
    const __m128i low = _mm_hadd_epi32(m[0], m[1]), high = _mm_hadd_epi32(m[2], m[3]);
    _mm_store_si128(static_cast<__m128i *>(out), _mm_hadd_epi32(low, high));
}

// Products of tiles if one instruction adds four products to a sum: K::dot(sum, codes, values).
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
                const Vi a = K::set1_i(load_i32le(q + (i * Columns + c) * 4));
#pragma GCC unroll 2
                for (unsigned m = 0; m < M; m++) sums[m][c] = K::dot(sums[m][c], w[m], a);
            }
        }
    }
};

} // namespace
} // namespace ggufx::kernels
