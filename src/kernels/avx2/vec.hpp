// AVX2 + FMA + F16C: eight lanes per vector, 256 values (8 blocks) per step. Codes are in row
// order: a chunk (128 values) is four vectors, one block each.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/codes.hpp"

namespace ggufx::kernels::avx2 {
namespace {

struct Vec : Codes, LaneMath<32> {
    static constexpr unsigned kLanes = 8;
    static constexpr unsigned kTileVectors = 2;
    static constexpr unsigned kColumns = 4; // columns per tile: 8 sums, results in L1
    static constexpr unsigned kDepth = 4;   // adjacent codes of a row in tiles
    using Vf = __m256;                      // f32

    static GGUFX_INLINE Vf zero() { return _mm256_setzero_ps(); }
    static GGUFX_INLINE Vf set1(float v) { return _mm256_set1_ps(v); }
    static GGUFX_INLINE Vf load(const float *p) { return _mm256_loadu_ps(p); }
    // Keeps an operand of several instructions in a register. gcc would load it again for each,
    // twice if it crosses a cache line.
    static GGUFX_INLINE void keep_in_register(Vf &v) { __asm__("" : "+x"(v)); }
    static GGUFX_INLINE void store(float *p, Vf v) { _mm256_storeu_ps(p, v); }
    static GGUFX_INLINE Vf fma(Vf a, Vf b, Vf c) { return _mm256_fmadd_ps(a, b, c); }
    static GGUFX_INLINE Vf fnma(Vf a, Vf b, Vf c) { return _mm256_fnmadd_ps(a, b, c); }
    static GGUFX_INLINE Vi set1_i(int32_t v) { return _mm256_set1_epi32(v); }
    static GGUFX_INLINE Vi load_i(const void *p) { return load32(p); }
    static GGUFX_INLINE void store_i(void *p, Vi v) {
        _mm256_storeu_si256(static_cast<__m256i *>(p), v);
    }
    static GGUFX_INLINE Vi widen_u8(const uint8_t *p) { return _mm256_cvtepu8_epi32(load8(p)); }
    static GGUFX_INLINE Vi widen_i8(const uint8_t *p) { return _mm256_cvtepi8_epi32(load8(p)); }
    static GGUFX_INLINE Vf load_f16(const uint8_t *p) { return _mm256_cvtph_ps(load16(p)); }
    static GGUFX_INLINE Vf broadcast_f16(const uint8_t *p) {
        return _mm256_cvtph_ps(_mm_set1_epi16(static_cast<int16_t>(load_u16le(p))));
    }
    // The f16 of a block of 256 for its eight lanes; the first two of 16 bytes of it; d of block k.
    static GGUFX_INLINE Vf block_f16(const uint8_t *p, size_t) { return broadcast_f16(p); }
    static GGUFX_INLINE void first_f16(Vf (&to)[2], Sixteen v) {
        const __m128 d = _mm_cvtph_ps((__m128i)v);
        to[0] = _mm256_broadcastss_ps(d);
        to[1] = _mm256_broadcastss_ps(_mm_movehdup_ps(d));
    }
    static GGUFX_INLINE Vf of_block(Vf d, unsigned) { return d; }
    static GGUFX_INLINE Vf load_bf16(const uint8_t *p) {
        return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(load16(p)), 16));
    }
    // Replaces NaN by the NaN with these bits.
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

    // Sum of sixteen lanes in the tree order of C2.
    static GGUFX_INLINE float tree(const Vf (&l)[2]) {
        const __m256 r8 = _mm256_add_ps(l[0], l[1]);
        const __m128 r4 = _mm_add_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
        const __m128 r2 = _mm_add_ps(r4, _mm_movehl_ps(r4, r4));
        return _mm_cvtss_f32(_mm_add_ss(r2, _mm_movehdup_ps(r2)));
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
    // Sums of 16 in the order of group_sums, rearranged in row order.
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
    static GGUFX_INLINE V8 sub_codes(V8 c, int8_t by) {
        return _mm256_sub_epi8(c, _mm256_set1_epi8(by));
    }
    static GGUFX_INLINE Vi max_i(Vi a, Vi b) { return _mm256_max_epi32(a, b); }
    // Lanes of yes if a < b (or a == b), else of no.
    static GGUFX_INLINE Vf select_less(Vi a, int32_t b, Vf yes, Vf no) {
        return _mm256_blendv_ps(no, yes, as_float(_mm256_cmpgt_epi32(set1_i(b), a)));
    }
    static GGUFX_INLINE Vf select_equal(Vi a, int32_t b, Vf yes, Vf no) {
        return _mm256_blendv_ps(no, yes, as_float(_mm256_cmpeq_epi32(set1_i(b), a)));
    }

    static GGUFX_INLINE size_t block_position(size_t b) { return 32 * b; }
    // Stores the 128 codes of a chunk in row order.
    static GGUFX_INLINE void store_codes(uint8_t *out, const V8 (&c)[4]) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            _mm256_storeu_si256(reinterpret_cast<__m256i *>(out + 32 * j), c[j]);
        }
    }

    // Swaps element t of row r and element r of row t.
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
    // int8 codes + 128.
    static GGUFX_INLINE void make_unsigned(uint8_t *codes, size_t n) {
        for (size_t i = 0; i < n; i += 32) {
            const __m256i v = load32(codes + i);
            store_i(codes + i, _mm256_xor_si256(v, _mm256_set1_epi8(-128)));
        }
    }
    // Replaces codes 0..7 of two groups of 16 by (code - Offset) * scale[group] + Add, low bytes.
    // With Turn, the product is negated. Looks them up in the eight multiples.
    template <int Offset, bool Turn, int Add>
    static GGUFX_INLINE void scale_codes(uint8_t *codes, const int8_t *scale) {
        const __m256i high = _mm256_set_epi64x(0x0180018001800180, 0x0180018001800180,
                                               0x0080008000800080, 0x0080008000800080);
        const __m256i two = _mm256_set1_epi16(static_cast<int16_t>(load_u16le(scale)));
        const __m256i v = multiples<Offset, Turn, Add>(_mm256_shuffle_epi8(two, high));
        store_i(codes, _mm256_shuffle_epi8(_mm256_packus_epi16(v, v), load32(codes)));
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
    // Rounds x * id to the nearest integers, ties to even.
    static GGUFX_INLINE Vi nearest(const float *x, float id) {
        return _mm256_cvtps_epi32(mul(load(x), set1(id)));
    }
    // Stores 16 codes and returns their sum.
    static GGUFX_INLINE int32_t store_group(int8_t *q, const Vi (&v)[2]) {
        const __m256i both = _mm256_permute4x64_epi64(_mm256_packs_epi32(v[0], v[1]), 0xd8);
        const __m128i codes =
            _mm_packs_epi16(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        _mm_storeu_si128(reinterpret_cast<__m128i *>(q), codes);
        const __m256i s = _mm256_add_epi32(v[0], v[1]);
        __m128i s4 = _mm_add_epi32(_mm256_castsi256_si128(s), _mm256_extracti128_si256(s, 1));
        s4 = _mm_add_epi32(s4, _mm_shuffle_epi32(s4, 0x4e));
        s4 = _mm_add_epi32(s4, _mm_shuffle_epi32(s4, 0xb1));
        return _mm_cvtsi128_si32(s4);
    }
};

// d (and m) of four blocks; their bytes in the order of `index`.
template <class Block> GGUFX_INLINE __m128i four_words(const Block *b, __m128i index) {
    return _mm_shuffle_epi8(
        _mm_setr_epi32(first_word(b[0]), first_word(b[1]), first_word(b[2]), first_word(b[3])),
        index);
}
// d and m of eight 32-blocks.
template <class Scales, class Block> GGUFX_INLINE Scales gather_d_and_m(const Block *b) {
    static_assert(__builtin_offsetof(Block, m) == 2);
    const __m128i index = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    const __m128i low = four_words(b, index), high = four_words(b + 4, index);
    return {_mm256_cvtph_ps(_mm_unpacklo_epi64(low, high)),
            _mm256_cvtph_ps(_mm_unpackhi_epi64(low, high))};
}
// d of eight 32-blocks, or of fewer larger ones repeated for each 32 values.
template <unsigned N = 1, class Block> GGUFX_INLINE Vec::Vf gather_d(const Block *b) {
    if constexpr (N == 8) {
        return Vec::block_f16(b->d, sizeof *b);
    } else if constexpr (N == 1) {
        const __m128i index = _mm_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 0, 1, 4, 5, 8, 9, 12, 13);
        return _mm256_cvtph_ps(_mm_unpacklo_epi64(four_words(b, index), four_words(b + 4, index)));
    } else if constexpr (N == 2) {
        const __m128i index = _mm_setr_epi8(0, 1, 0, 1, 4, 5, 4, 5, 8, 9, 8, 9, 12, 13, 12, 13);
        return _mm256_cvtph_ps(four_words(b, index));
    } else {
        static_assert(N == 4);
        const __m128i v = _mm_setr_epi32(first_word(b[0]), first_word(b[1]), 0, 0);
        const __m128i index = _mm_setr_epi8(0, 1, 0, 1, 0, 1, 0, 1, 4, 5, 4, 5, 4, 5, 4, 5);
        return _mm256_cvtph_ps(_mm_shuffle_epi8(v, index));
    }
}

} // namespace
} // namespace ggufx::kernels::avx2
