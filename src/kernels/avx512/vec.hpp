// AVX-512 F+BW+VL+DQ+VNNI: sixteen lanes per vector, 512 values (16 blocks) per step. Codes of a
// chunk (256 values, 8 blocks) are in four vectors, vector j = block j, block 4 + j. With this
// order of the sums of 16, one addition of lane pairs gives blocks in order.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/codes.hpp"
#include "kernels/avx512/pick_words.hpp"

namespace ggufx::kernels::avx512 {
namespace {

struct Vec : Codes, LaneMath<64>, DotTiles {
    static constexpr unsigned kLanes = 16;
    static constexpr unsigned kTileVectors = 2;
    static constexpr unsigned kColumns = 6; // per tile: 12 sums, 12 results, 2 weights, 4 more
    static constexpr int kCodeLimit = 255;  // largest unsigned code of the dot product
    static constexpr bool kExactDot = true; // exact for all codes: formats share tile code
    static constexpr unsigned kDepth = 4;   // adjacent codes of a row in tiles
    using Vf = __m512;                      // f32

    static GGUFX_INLINE Vf zero() { return _mm512_setzero_ps(); }
    static GGUFX_INLINE Vf set1(float v) { return _mm512_set1_ps(v); }
    static GGUFX_INLINE Vf load(const float *p) { return _mm512_loadu_ps(p); }
    // Keeps an operand of several instructions in a register. gcc would load it again for each,
    // twice if it crosses a cache line.
    static GGUFX_INLINE void keep_in_register(Vf &v) { __asm__("" : "+v"(v)); }
    static GGUFX_INLINE void store(float *p, Vf v) { _mm512_storeu_ps(p, v); }
    static GGUFX_INLINE Vf fma(Vf a, Vf b, Vf c) { return _mm512_fmadd_ps(a, b, c); }
    static GGUFX_INLINE Vf fnma(Vf a, Vf b, Vf c) { return _mm512_fnmadd_ps(a, b, c); }
    static GGUFX_INLINE Vi set1_i(int32_t v) { return _mm512_set1_epi32(v); }
    static GGUFX_INLINE Vi load_i(const void *p) { return _mm512_loadu_si512(p); }
    static GGUFX_INLINE void store_i(void *p, Vi v) { _mm512_storeu_si512(p, v); }
    static GGUFX_INLINE Vi widen_u8(const uint8_t *p) { return _mm512_cvtepu8_epi32(load16(p)); }
    static GGUFX_INLINE Vi widen_i8(const uint8_t *p) { return _mm512_cvtepi8_epi32(load16(p)); }
    static GGUFX_INLINE Vf load_f16(const uint8_t *p) { return _mm512_cvtph_ps(load_half(p)); }
    static GGUFX_INLINE Vf broadcast_f16(const uint8_t *p) {
        return _mm512_cvtph_ps(_mm256_set1_epi16(static_cast<int16_t>(load_u16le(p))));
    }
    // The f16 of two blocks of 256, for eight lanes each; the first two of 16 bytes of both; d of
    // block k.
    static GGUFX_INLINE Vf block_f16(const uint8_t *p, size_t far) {
        return _mm512_mask_mov_ps(broadcast_f16(p), 0xff00, broadcast_f16(p + far));
    }
    static GGUFX_INLINE void first_f16(Vf (&to)[2], Sixteen v) {
        const __m256i both = (__m256i)v;
        const __m128i words =
            _mm_unpacklo_epi32(_mm256_castsi256_si128(both), _mm256_extracti128_si256(both, 1));
        const __m512 d = _mm512_castps128_ps512(_mm_cvtph_ps(words));
        const __m512i first = _mm512_setr_epi32(0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, 2, 2, 2);
        to[0] = _mm512_permutexvar_ps(first, d);
        to[1] = _mm512_permutexvar_ps(_mm512_or_si512(first, set1_i(1)), d);
    }
    static GGUFX_INLINE Vf of_block(Vf d, unsigned k) {
        return k == 0 ? _mm512_shuffle_f32x4(d, d, 0x00) : _mm512_shuffle_f32x4(d, d, 0xaa);
    }
    static GGUFX_INLINE Vf load_bf16(const uint8_t *p) {
        return as_float(_mm512_slli_epi32(_mm512_cvtepu16_epi32(load_half(p)), 16));
    }
    // Replaces NaN by the NaN with these bits.
    static GGUFX_INLINE Vf fix_nan(Vf v, uint32_t bits) {
        const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
        const Vf fixed = _mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(bits)));
        return _mm512_mask_mov_ps(v, nan, fixed);
    }
    // a * b + c in one lane, c in the others.
    static GGUFX_INLINE Vf fma_lane(unsigned lane, Vf a, Vf b, Vf c) {
        return _mm512_mask3_fmadd_ps(a, b, c, static_cast<__mmask16>(1u << lane));
    }

    // Sum of sixteen lanes in the tree order of C2.
    static GGUFX_INLINE float tree(const Vf (&l)[1]) {
        const __m256 r8 =
            _mm256_add_ps(_mm512_castps512_ps256(l[0]), _mm512_extractf32x8_ps(l[0], 1));
        const __m128 r4 = _mm_add_ps(_mm256_castps256_ps128(r8), _mm256_extractf128_ps(r8, 1));
        const __m128 r2 = _mm_add_ps(r4, _mm_movehl_ps(r4, r4));
        return _mm_cvtss_f32(_mm_add_ss(r2, _mm_movehdup_ps(r2)));
    }
    // The same of four rows.
    static GGUFX_INLINE void tree_of_four(float (&to)[4], const Vf (&l)[4]) {
        const auto halves = [](Vf a, Vf b) __attribute__((always_inline)) {
            return _mm512_add_ps(_mm512_shuffle_f32x4(a, b, 0x44),
                                 _mm512_shuffle_f32x4(a, b, 0xee));
        };
        const Vf ab = halves(l[0], l[1]), cd = halves(l[2], l[3]);
        const Vf r4 =
            _mm512_add_ps(_mm512_shuffle_f32x4(ab, cd, 0x88), _mm512_shuffle_f32x4(ab, cd, 0xdd));
        const Vf r2 = _mm512_add_ps(r4, _mm512_permute_ps(r4, 0x4e));
        const Vf r1 = _mm512_add_ps(r2, _mm512_movehdup_ps(r2));
        const Vi first = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
        _mm_storeu_ps(to, _mm512_castps512_ps128(_mm512_permutexvar_ps(first, r1)));
    }

    // Sums of 16 products; 128-bit lane L, element j = lane L of vector j.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        const __m512i z = _mm512_setzero_si512();
        const __m512i p0 = _mm512_dpbusd_epi32(z, c[0], _mm512_load_si512(q));
        const __m512i p1 = _mm512_dpbusd_epi32(z, c[1], _mm512_load_si512(q + 64));
        const __m512i p2 = _mm512_dpbusd_epi32(z, c[2], _mm512_load_si512(q + 128));
        const __m512i p3 = _mm512_dpbusd_epi32(z, c[3], _mm512_load_si512(q + 192));
        const __m512i t0 =
            _mm512_add_epi32(_mm512_unpacklo_epi32(p0, p1), _mm512_unpackhi_epi32(p0, p1));
        const __m512i t1 =
            _mm512_add_epi32(_mm512_unpacklo_epi32(p2, p3), _mm512_unpackhi_epi32(p2, p3));
        return _mm512_add_epi32(_mm512_unpacklo_epi64(t0, t1), _mm512_unpackhi_epi64(t0, t1));
    }
    // Sums of 16 of two chunks to sums of 32, blocks in order.
    static GGUFX_INLINE Vi pair_sums(Vi u0, Vi u1) {
        return _mm512_add_epi32(_mm512_shuffle_i64x2(u0, u1, 0x88),
                                _mm512_shuffle_i64x2(u0, u1, 0xdd));
    }
    // offset * (sum of q) of each block.
    static GGUFX_INLINE Vi offset_sums(const int16_t *s16, int16_t offset) {
        return _mm512_madd_epi16(_mm512_loadu_si512(s16), _mm512_set1_epi16(offset));
    }

    // Sums of 16 in the order of group_sums, rearranged in row order.
    static GGUFX_INLINE Vi order_groups(Vi u) {
        return _mm512_permutexvar_epi32(
            _mm512_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15), u);
    }
    // offset * (sum of q) of kLanes groups of 16.
    static GGUFX_INLINE Vi group_offsets(const int16_t *s16, int16_t offset) {
        const __m256i s = load_half(s16);
        return _mm512_madd_epi16(_mm512_cvtepi16_epi32(s), set1_i(offset));
    }
    // Each of kLanes / 2 values twice.
    static GGUFX_INLINE Vf load_pairs(const float *p) {
        return _mm512_permutexvar_ps(
            _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7),
            _mm512_castps256_ps512(_mm256_loadu_ps(p)));
    }

    // Products of int16, pairs added.
    static GGUFX_INLINE Vi madd16(V16 a, const int16_t *b) {
        return _mm512_madd_epi16(a, _mm512_loadu_si512(b));
    }
    static GGUFX_INLINE Vi max_i(Vi a, Vi b) { return _mm512_max_epi32(a, b); }
    // Lanes of yes if a < b (or a == b), else of no.
    static GGUFX_INLINE Vf select_less(Vi a, int32_t b, Vf yes, Vf no) {
        return _mm512_mask_mov_ps(no, _mm512_cmplt_epi32_mask(a, set1_i(b)), yes);
    }
    static GGUFX_INLINE Vf select_equal(Vi a, int32_t b, Vf yes, Vf no) {
        return _mm512_mask_mov_ps(no, _mm512_cmpeq_epi32_mask(a, set1_i(b)), yes);
    }

    // Returns the position of block b in a row of codes, see the head of this file.
    static GGUFX_INLINE size_t block_position(size_t b) {
        return b / 8 * 256 + b % 4 * 64 + b / 4 % 2 * 32;
    }
    static GGUFX_INLINE V8 sub_codes(V8 c, int8_t by) {
        return _mm512_sub_epi8(c, _mm512_set1_epi8(by));
    }
    // Stores the 256 codes of a chunk in row order.
    static GGUFX_INLINE void store_codes(uint8_t *out, const V8 (&c)[4]) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            auto *to = reinterpret_cast<__m256i *>(out + 32 * j);
            _mm256_storeu_si256(to, _mm512_castsi512_si256(c[j]));
            _mm256_storeu_si256(to + 4, _mm512_extracti64x4_epi64(c[j], 1));
        }
    }

    // A byte of each of 16 blocks, starting in the first one; those of MXFP4 by permutations.
    static GGUFX_INLINE Vi gather_bytes(const uint8_t *p, size_t stride) {
        if (stride != 17) return Codes::gather_bytes(p, stride);
        const Vi words = _mm512_cvtepu16_epi32(_mm512_castsi512_si256(pick_words<17, 0, 1>(p)));
        const Vi odd = _mm512_setr_epi32(0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8, 0, 8);
        return and_i(_mm512_srlv_epi32(words, odd), 255);
    }

    static GGUFX_INLINE Vi dot(Vi sum, V8 c, V8 q) {
        return _mm512_dpbusd_epi32(sum, c, q);
    }

    // Transposes dwords 4 x 4 in each 128 bits: dword t of register r and dword r of register t
    // swap.
    static GGUFX_INLINE void turn_fours(Vi &a, Vi &b, Vi &c, Vi &d) {
        const __m512i ab0 = _mm512_unpacklo_epi32(a, b), ab1 = _mm512_unpackhi_epi32(a, b);
        const __m512i cd0 = _mm512_unpacklo_epi32(c, d), cd1 = _mm512_unpackhi_epi32(c, d);
        a = _mm512_unpacklo_epi64(ab0, cd0);
        b = _mm512_unpackhi_epi64(ab0, cd0);
        c = _mm512_unpacklo_epi64(ab1, cd1);
        d = _mm512_unpackhi_epi64(ab1, cd1);
    }
    // Loads 16 bytes of 16 rows at addresses row(r): lane L of to[i] has those of row 4 L + i.
    // Masked loads combine them, which halves the shuffle-port load of transpose(). Not for data
    // just written by wider stores: that costs more than it gains.
    template <class Row>
    static GGUFX_INLINE void load_quads(Vi (&to)[4], const Row &row, size_t at) {
#pragma GCC unroll 4
        for (unsigned i = 0; i < 4; i++) {
            Vi v = _mm512_castsi128_si512(load16(row(i) + at));
            v = _mm512_mask_broadcast_i32x4(v, 0x00f0, load16(row(4 + i) + at));
            v = _mm512_mask_broadcast_i32x4(v, 0x0f00, load16(row(8 + i) + at));
            to[i] = _mm512_mask_broadcast_i32x4(v, 0xf000, load16(row(12 + i) + at));
        }
    }
    // Dwords 0 .. 3 of those 16 bytes of all rows, one row per lane.
    template <class Row> static GGUFX_INLINE void load_dwords(Vi *to, const Row &row, size_t at) {
        Vi r[4];
        load_quads(r, row, at);
        turn_fours(r[0], r[1], r[2], r[3]);
#pragma GCC unroll 4
        for (unsigned t = 0; t < 4; t++) to[t] = r[t];
    }
    // Lane t of the rows, for all t, like load_i and transpose().
    template <class Row> static GGUFX_INLINE void load_transposed(Vi (&to)[16], const Row &row) {
#pragma GCC unroll 4
        for (unsigned q = 0; q < 16; q += 4) load_dwords(to + q, row, 4 * q);
    }
    // Value t of 16 rows of bf16, as f32.
    static constexpr bool kTransposesBf16 = true;
    template <class Row>
    static GGUFX_INLINE void load_transposed_bf16(Vf (&to)[16], const Row &row) {
#pragma GCC unroll 2
        for (unsigned q = 0; q < 16; q += 8) {
            Vi r[4];
            load_quads(r, row, 2 * q);
            const Vi a = _mm512_unpacklo_epi16(r[0], r[1]), b = _mm512_unpackhi_epi16(r[0], r[1]);
            const Vi c = _mm512_unpacklo_epi16(r[2], r[3]), d = _mm512_unpackhi_epi16(r[2], r[3]);
            const Vi two[4] = {_mm512_unpacklo_epi32(a, c), _mm512_unpackhi_epi32(a, c),
                               _mm512_unpacklo_epi32(b, d), _mm512_unpackhi_epi32(b, d)};
#pragma GCC unroll 4
            for (unsigned i = 0; i < 4; i++) { // two values of four rows per lane
                const Vi z = _mm512_setzero_si512();
                to[q + 2 * i] = _mm512_castsi512_ps(_mm512_unpacklo_epi16(z, two[i]));
                to[q + 2 * i + 1] = _mm512_castsi512_ps(_mm512_unpackhi_epi16(z, two[i]));
            }
        }
    }
    // Swaps element t of row r and element r of row t.
    static GGUFX_INLINE void transpose(Vi (&r)[16]) {
        __m512i t[16];
#pragma GCC unroll 8
        for (unsigned i = 0; i < 8; i++) {
            t[2 * i] = _mm512_unpacklo_epi32(r[2 * i], r[2 * i + 1]);
            t[2 * i + 1] = _mm512_unpackhi_epi32(r[2 * i], r[2 * i + 1]);
        }
#pragma GCC unroll 4
        for (unsigned i = 0; i < 16; i += 4) {
            r[i] = _mm512_unpacklo_epi64(t[i], t[i + 2]);
            r[i + 1] = _mm512_unpackhi_epi64(t[i], t[i + 2]);
            r[i + 2] = _mm512_unpacklo_epi64(t[i + 1], t[i + 3]);
            r[i + 3] = _mm512_unpackhi_epi64(t[i + 1], t[i + 3]);
        }
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) { // now 4 x 4 lanes of 128 bits
            const __m512i a = _mm512_shuffle_i32x4(r[j], r[4 + j], 0x88);
            const __m512i b = _mm512_shuffle_i32x4(r[j], r[4 + j], 0xdd);
            const __m512i c = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0x88);
            const __m512i d = _mm512_shuffle_i32x4(r[8 + j], r[12 + j], 0xdd);
            t[j] = _mm512_shuffle_i32x4(a, c, 0x88);
            t[8 + j] = _mm512_shuffle_i32x4(a, c, 0xdd);
            t[4 + j] = _mm512_shuffle_i32x4(b, d, 0x88);
            t[12 + j] = _mm512_shuffle_i32x4(b, d, 0xdd);
        }
#pragma GCC unroll 16
        for (unsigned i = 0; i < 16; i++) r[i] = t[i];
    }

    // Replaces codes 0..7 of four groups of 16 by (code - Offset) * scale[group] + Add, low bytes.
    // With Turn, the product is negated. Looks them up in the eight multiples.
    template <int Offset, bool Turn, int Add>
    static GGUFX_INLINE void scale_codes(uint8_t *codes, const int8_t *scale) {
        const __m512i high = _mm512_set_epi64(
            0x0380038003800380, 0x0380038003800380, 0x0280028002800280, 0x0280028002800280,
            0x0180018001800180, 0x0180018001800180, 0x0080008000800080, 0x0080008000800080);
        const __m512i four = _mm512_set1_epi32(load_i32le(scale));
        const __m512i v = multiples<Offset, Turn, Add>(_mm512_shuffle_epi8(four, high));
        store_i(codes, _mm512_shuffle_epi8(_mm512_packus_epi16(v, v), load_i(codes)));
    }

    static GGUFX_INLINE uint32_t max_bits32(const float *x) {
        const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
        const __m512i a = _mm512_and_si512(_mm512_loadu_si512(x), magnitude);
        const __m512i b = _mm512_and_si512(_mm512_loadu_si512(x + 16), magnitude);
        return static_cast<uint32_t>(_mm512_reduce_max_epi32(_mm512_max_epi32(a, b)));
    }
    // Rounds x * id to the nearest integers, ties to even.
    static GGUFX_INLINE Vi nearest(const float *x, float id) {
        return _mm512_cvtps_epi32(mul(load(x), set1(id)));
    }
    // Stores 16 codes and returns their sum.
    static GGUFX_INLINE int32_t store_group(int8_t *q, const Vi (&v)[1]) {
        _mm_storeu_si128(reinterpret_cast<__m128i *>(q), _mm512_cvtepi32_epi8(v[0]));
        return _mm512_reduce_add_epi32(v[0]);
    }
};

// First words of 16 / N blocks, each N times.
template <unsigned N, class Block> GGUFX_INLINE __m512i first_words(const Block *b) {
    const auto w = [b](unsigned i) __attribute__((always_inline)) {
        return first_word(b[i]);
    };
    if constexpr (N == 2) {
        const __m256i v = _mm256_setr_epi32(w(0), w(1), w(2), w(3), w(4), w(5), w(6), w(7));
        const __m512i index = _mm512_setr_epi32(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7);
        return _mm512_permutexvar_epi32(index, _mm512_castsi256_si512(v));
    } else {
        static_assert(N == 4);
        const __m128i v = _mm_setr_epi32(w(0), w(1), w(2), w(3));
        const __m512i index = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
        return _mm512_permutexvar_epi32(index, _mm512_castsi128_si512(v));
    }
}
// f16 in the low half of each word.
GGUFX_INLINE Vec::Vf low_f16(__m512i v) {
    return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(v));
}
// d of sixteen 32-blocks, or of fewer larger ones repeated for each 32 values.
template <unsigned N = 1, class Block> GGUFX_INLINE Vec::Vf gather_d(const Block *b) {
    if constexpr (N == 8) {
        return Vec::block_f16(b->d, sizeof *b);
    } else if constexpr (N == 1) {
        constexpr unsigned at = __builtin_offsetof(Block, d);
        return _mm512_cvtph_ps(_mm512_castsi512_si256(pick_words<sizeof *b, at, 1>(b)));
    } else {
        return low_f16(first_words<N>(b));
    }
}
// d and m of sixteen 32-blocks.
template <class Scales, class Block> GGUFX_INLINE Scales gather_d_and_m(const Block *b) {
    static_assert(__builtin_offsetof(Block, m) == __builtin_offsetof(Block, d) + 2);
    const __m512i v = pick_words<sizeof *b, __builtin_offsetof(Block, d), 2>(b);
    return {low_f16(v), low_f16(_mm512_srli_epi32(v, 16))};
}

} // namespace
} // namespace ggufx::kernels::avx512
