// AVX2 + FMA + F16C: eight lanes per vector, 256 values (8 blocks) per step.
// Codes lie in the order of the row: a chunk (128 values) is four vectors, one block each.
// vpmaddubsw adds two products in int16, so codes above 129 would saturate: such formats are
// kSigned and use |w| * (q with the sign of w).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

#include <immintrin.h>

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

struct Vec {
    static constexpr unsigned kLanes = 8;
    static constexpr unsigned kTileVectors = 2;
    static constexpr unsigned kColumns = 4; // of a tile: 8 sums, results in the first cache
    static constexpr int kCodeLimit = 129;  // largest unsigned code that cannot saturate
    static constexpr bool kExactDot = false;
    static constexpr unsigned kDepth = 4; // neighbouring codes of a row in tiles
    using Vf = __m256;                      // f32
    using Vi = __m256i;                     // int32
    using V8 = __m256i;                     // codes
    using V16 = __m256i;                    // int16

    static GGUFX_INLINE Vf zero() { return _mm256_setzero_ps(); }
    static GGUFX_INLINE Vf set1(float v) { return _mm256_set1_ps(v); }
    static GGUFX_INLINE Vf load(const float *p) { return _mm256_loadu_ps(p); }
    static GGUFX_INLINE void store(float *p, Vf v) { _mm256_storeu_ps(p, v); }
    static GGUFX_INLINE Vf add(Vf a, Vf b) { return _mm256_add_ps(a, b); }
    static GGUFX_INLINE Vf sub(Vf a, Vf b) { return _mm256_sub_ps(a, b); }
    static GGUFX_INLINE Vf mul(Vf a, Vf b) { return _mm256_mul_ps(a, b); }
    static GGUFX_INLINE Vf fma(Vf a, Vf b, Vf c) { return _mm256_fmadd_ps(a, b, c); }
    static GGUFX_INLINE Vf fnma(Vf a, Vf b, Vf c) { return _mm256_fnmadd_ps(a, b, c); }
    static GGUFX_INLINE Vf to_float(Vi v) { return _mm256_cvtepi32_ps(v); }
    static GGUFX_INLINE Vi set1_i(int32_t v) { return _mm256_set1_epi32(v); }
    static GGUFX_INLINE Vi load_i(const void *p) { return load32(p); }
    static GGUFX_INLINE void store_i(void *p, Vi v) {
        _mm256_storeu_si256(static_cast<__m256i *>(p), v);
    }
    static GGUFX_INLINE Vi sub_i(Vi a, Vi b) { return _mm256_sub_epi32(a, b); }
    static GGUFX_INLINE Vi mul_i(Vi a, Vi b) { return _mm256_mullo_epi32(a, b); }
    static GGUFX_INLINE __m128i load8(const void *p) {
        return _mm_loadl_epi64(static_cast<const __m128i *>(p));
    }
    static GGUFX_INLINE __m128i load16(const void *p) {
        return _mm_loadu_si128(static_cast<const __m128i *>(p));
    }
    static GGUFX_INLINE __m256i load32(const void *p) {
        return _mm256_loadu_si256(static_cast<const __m256i *>(p));
    }
    static GGUFX_INLINE Vi widen_u8(const uint8_t *p) { return _mm256_cvtepu8_epi32(load8(p)); }
    static GGUFX_INLINE Vi widen_i8(const uint8_t *p) { return _mm256_cvtepi8_epi32(load8(p)); }
    static GGUFX_INLINE Vf load_f16(const uint8_t *p) { return _mm256_cvtph_ps(load16(p)); }
    static GGUFX_INLINE Vf broadcast_f16(const uint8_t *p) {
        int16_t h;
        __builtin_memcpy(&h, p, sizeof h);
        return _mm256_cvtph_ps(_mm_set1_epi16(h));
    }
    static GGUFX_INLINE Vf load_bf16(const uint8_t *p) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(p)), 16));
    }
    // NaN becomes the NaN with these bits.
    static GGUFX_INLINE Vf fix_nan(Vf v, uint32_t bits) {
        const Vf fixed = _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(bits)));
        return _mm256_blendv_ps(v, fixed, _mm256_cmp_ps(v, v, _CMP_UNORD_Q));
    }
    // a * b + c in one lane, c in the others.
    static GGUFX_INLINE Vf fma_lane(unsigned lane, Vf a, Vf b, Vf c) {
        const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        const __m256i here =
            _mm256_cmpeq_epi32(lanes, _mm256_set1_epi32(static_cast<int32_t>(lane)));
        return _mm256_blendv_ps(c, fma(a, b, c), _mm256_castsi256_ps(here));
    }

    // The tree of C2 over sixteen lanes.
    static GGUFX_INLINE float tree(const Vf (&l)[2]) {
        const __m256 r8 = _mm256_add_ps(l[0], l[1]);
        const __m128 r4 = _mm_add_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
        const __m128 r2 = _mm_add_ps(r4, _mm_movehl_ps(r4, r4));
        return _mm_cvtss_f32(_mm_add_ss(r2, _mm_movehdup_ps(r2)));
    }

    // Products of one vector of codes, neighbours added.
    template <class U> static GGUFX_INLINE V16 products(V8 c, __m256i q) {
        if constexpr (U::kSigned) {
            return _mm256_maddubs_epi16(_mm256_abs_epi8(c), _mm256_sign_epi8(q, c));
        } else {
            static_assert(U::kMaxCode <= kCodeLimit);
            return _mm256_maddubs_epi16(c, q);
        }
    }
    // Sums of 16 products; lane L, element j = lane L of vector j. Small codes are added in
    // int16 to the end: half the additions.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        const __m256i one = _mm256_set1_epi16(1);
        __m256i p[4];
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) p[j] = products<U>(c[j], load32(q + 32 * j));
        if constexpr (8 * U::kMaxCode * 127 <= 32767) {
            const __m256i t0 = _mm256_add_epi16(_mm256_unpacklo_epi32(p[0], p[1]),
                                                _mm256_unpackhi_epi32(p[0], p[1]));
            const __m256i t1 = _mm256_add_epi16(_mm256_unpacklo_epi32(p[2], p[3]),
                                                _mm256_unpackhi_epi32(p[2], p[3]));
            return _mm256_madd_epi16(
                _mm256_add_epi16(_mm256_unpacklo_epi64(t0, t1), _mm256_unpackhi_epi64(t0, t1)),
                one);
        } else {
#pragma GCC unroll 4
            for (unsigned j = 0; j < 4; j++) p[j] = _mm256_madd_epi16(p[j], one);
            const __m256i t0 = _mm256_add_epi32(_mm256_unpacklo_epi32(p[0], p[1]),
                                                _mm256_unpackhi_epi32(p[0], p[1]));
            const __m256i t1 = _mm256_add_epi32(_mm256_unpacklo_epi32(p[2], p[3]),
                                                _mm256_unpackhi_epi32(p[2], p[3]));
            return _mm256_add_epi32(_mm256_unpacklo_epi64(t0, t1), _mm256_unpackhi_epi64(t0, t1));
        }
    }
    // Sums of 16 of two chunks to sums of 32, blocks in order.
    static GGUFX_INLINE Vi pair_sums(Vi u0, Vi u1) {
        return _mm256_add_epi32(_mm256_permute2x128_si256(u0, u1, 0x20),
                                _mm256_permute2x128_si256(u0, u1, 0x31));
    }
    // offset * (sum of q) of each block.
    static GGUFX_INLINE Vi offset_sums(const int16_t *s16, int16_t offset) {
        return _mm256_madd_epi16(load32(s16), _mm256_set1_epi16(offset));
    }
    // Sums of 16 as group_sums gives them, in order.
    static GGUFX_INLINE Vi order_groups(Vi u) {
        return _mm256_permutevar8x32_epi32(u, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
    }
    // offset * (sum of q) of kLanes groups of 16.
    static GGUFX_INLINE Vi group_offsets(const int16_t *s16, int16_t offset) {
        return _mm256_madd_epi16(_mm256_cvtepi16_epi32(load16(s16)), set1_i(offset));
    }
    // Each of kLanes / 2 values twice.
    static GGUFX_INLINE Vf load_pairs(const float *p) {
        return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(_mm_loadu_ps(p)),
                                        _mm256_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3));
    }
    // Products of int16, pairs added.
    static GGUFX_INLINE Vi madd16(V16 a, const int16_t *b) {
        return _mm256_madd_epi16(a, load32(b));
    }
    template <int N> static GGUFX_INLINE Vi shift_left(Vi v) {
        return _mm256_slli_epi32(v, N);
    }

    static GGUFX_INLINE size_t block_position(size_t b) {
        return 32 * b;
    }
    // The 128 codes of a chunk in the order of the row.
    static GGUFX_INLINE void store_codes(uint8_t *out, const V8 (&c)[4]) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + 32 * j), c[j]);
        }
    }

    // sums[m][c] += codes (four per lane, u + 64 * i + 32 * m for M = 2) times activations of
    // column c (four, q + 4 * Columns * i + 4 * c), i = 0 .. Quads - 1. As many products as fit
    // are added in int16.
    template <class K, size_t Quads, unsigned M, unsigned Columns>
    static GGUFX_INLINE void add_products(Vi (&sums)[M][Columns], const uint8_t *u,
                                          const int8_t *q) {
        constexpr size_t n_fit = 32767 / (2 * 127 * K::kMaxCode);
        constexpr size_t n_fold = n_fit >= 8 ? 8 : n_fit >= 4 ? 4 : n_fit >= 2 ? 2 : 1;
        constexpr size_t n = n_fold < Quads ? n_fold : Quads;
#pragma GCC unroll 8
        for (size_t first = 0; first < Quads; first += n) {
            __m256i pairs[M][Columns];
#pragma GCC unroll 8
            for (size_t i = first; i < first + n; i++) {
#pragma GCC unroll 4
                for (unsigned c = 0; c < Columns; c++) {
                    int32_t four;
                    __builtin_memcpy(&four, q + (i * Columns + c) * 4, 4);
                    const __m256i a = _mm256_set1_epi32(four);
#pragma GCC unroll 2
                    for (unsigned m = 0; m < M; m++) {
                        const __m256i p = products<K>(load32(u + (i * M + m) * 32), a);
                        pairs[m][c] = i == first ? p : _mm256_add_epi16(pairs[m][c], p);
                    }
                }
            }
#pragma GCC unroll 4
            for (unsigned c = 0; c < Columns; c++) {
#pragma GCC unroll 2
                for (unsigned m = 0; m < M; m++) {
                    const __m256i s = _mm256_madd_epi16(pairs[m][c], _mm256_set1_epi16(1));
                    sums[m][c] = _mm256_add_epi32(sums[m][c], s);
                }
            }
        }
    }

    // Element t of row r <-> element r of row t.
    static GGUFX_INLINE void transpose(Vi (&r)[8]) {
        __m256i t[8];
#pragma GCC unroll 4
        for (unsigned i = 0; i < 8; i += 2) {
            t[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
            t[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
        }
#pragma GCC unroll 2
        for (unsigned i = 0; i < 8; i += 4) {
            r[i] = _mm256_unpacklo_epi64(t[i], t[i + 2]);
            r[i + 1] = _mm256_unpackhi_epi64(t[i], t[i + 2]);
            r[i + 2] = _mm256_unpacklo_epi64(t[i + 1], t[i + 3]);
            r[i + 3] = _mm256_unpackhi_epi64(t[i + 1], t[i + 3]);
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) { // now 2 x 2 lanes of 128 bits
            t[i] = _mm256_permute2x128_si256(r[i], r[4 + i], 0x20);
            t[4 + i] = _mm256_permute2x128_si256(r[i], r[4 + i], 0x31);
        }
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) r[i] = t[i];
    }

    static GGUFX_INLINE __m128i max4(__m128i a, __m128i b) {
        return _mm_max_epu32(a, b);
    }
    // 16 codes times `by` plus `add`, low bytes.
    static GGUFX_INLINE void scale_codes(uint8_t *codes, int by, int add) {
        auto *const p = reinterpret_cast<__m128i *>(codes);
        const __m256i v = _mm256_mullo_epi16(_mm256_cvtepu8_epi16(_mm_loadu_si128(p)),
                                             _mm256_set1_epi16(static_cast<int16_t>(by)));
        const __m256i low =
            _mm256_and_si256(_mm256_add_epi16(v, _mm256_set1_epi16(static_cast<int16_t>(add))),
                             _mm256_set1_epi16(255));
        _mm_storeu_si128(
            p, _mm_packus_epi16(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
    }

    static GGUFX_INLINE uint32_t max_bits32(const float *x) {
        const __m256i magnitude = _mm256_set1_epi32(0x7fffffff);
        __m256i m = _mm256_setzero_si256();
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            m = _mm256_max_epu32(m, _mm256_and_si256(load32(x + 8 * i), magnitude));
        }
        const __m128i m4 = max4(_mm256_castsi256_si128(m), _mm256_extracti128_si256(m, 1));
        const __m128i m2 = max4(m4, _mm_shuffle_epi32(m4, 0x4e));
        return static_cast<uint32_t>(_mm_cvtsi128_si32(max4(m2, _mm_shuffle_epi32(m2, 0xb1))));
    }
    static GGUFX_INLINE void quantize32(int8_t *q, int16_t *s16, const float *x, float id) {
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++) {
            const __m256i a = _mm256_cvtps_epi32(mul(load(x + 16 * i), set1(id)));
            const __m256i b = _mm256_cvtps_epi32(mul(load(x + 16 * i + 8), set1(id)));
            const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(a, b), 0xd8);
            const __m128i codes =
                _mm_packs_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
            _mm_storeu_si128(reinterpret_cast<__m128i *>(q + 16 * i), codes);
            const __m256i s = _mm256_add_epi32(a, b);
            __m128i s4 = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
            s4 = _mm_add_epi32(s4, _mm_shuffle_epi32(s4, 0x4e));
            s4 = _mm_add_epi32(s4, _mm_shuffle_epi32(s4, 0xb1));
            s16[i] = static_cast<int16_t>(_mm_cvtsi128_si32(s4));
        }
    }
};

template <class F> struct Unpack; // one specialisation per format, in its own header

// One f16 each of eight 32-blocks; field(i) is where that of block i is.
template <class Field> GGUFX_INLINE Vec::Vf gather_f16(const Field &field) {
    const auto h = [&](unsigned i) __attribute__((always_inline)) {
        return static_cast<int16_t>(load_u16le(field(i)));
    };
    return _mm256_cvtph_ps(_mm_setr_epi16(h(0), h(1), h(2), h(3), h(4), h(5), h(6), h(7)));
}
template <class Block> GGUFX_INLINE Vec::Vf gather_d(const Block *b) {
    return gather_f16([b](unsigned i) __attribute__((always_inline)) { return b[i].d; });
}
template <class Block> GGUFX_INLINE Vec::Vf gather_m(const Block *b) {
    return gather_f16([b](unsigned i) __attribute__((always_inline)) { return b[i].m; });
}

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
