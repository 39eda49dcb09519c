// AVX2 primitives that read codes and scales of formats. A vector is the 32 codes of a block, a
// chunk is half a 256-block. The second half of wider vectors, `far` bytes later, is ignored.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/bytes.hpp"
#include "kernels/loops/x86.hpp"

#ifdef __AVXVNNI__
#include "kernels/avxvnni/products.hpp"
#else
#include "kernels/avx2/products.hpp"
#endif

namespace ggufx::kernels::avx2 {
namespace {

struct Codes : Products, X86Bytes {
    static constexpr int kSignedAbove = 129;     // formats with larger codes use signed codes
    static constexpr int kLeastBound = 0;        // lower bound of the largest code
    using Sixteen = VectorOf<uint8_t, 16>::Type; // 16 bytes of each 256-block of a step

    // ---- codes ----------------------------------------------------------------------------------

    static GGUFX_INLINE V8 load_codes(const uint8_t *p, size_t) { return load32(p); }
    // 16 bytes: low nibbles, then high nibbles.
    static GGUFX_INLINE V8 load_nibbles(const uint8_t *p, size_t) {
        const __m128i v = load16(p);
        return _mm256_and_si256(two_of_16(v, _mm_srli_epi16(v, 4)), _mm256_set1_epi8(15));
    }
    // 8 bytes: low nibbles, then high nibbles; then the next 8.
    static GGUFX_INLINE V8 load_nibbles8(const uint8_t *p, size_t) {
        const __m256i twice = _mm256_permute4x64_epi64(_mm256_castsi128_si256(load16(p)), 0x50);
        const __m256i v = _mm256_srlv_epi64(twice, _mm256_setr_epi64x(0, 4, 0, 4));
        return _mm256_and_si256(v, _mm256_set1_epi8(15));
    }
    // 8 bytes of four adjacent 2-bit codes each.
    static GGUFX_INLINE V8 load_2bit(const uint8_t *p, size_t) {
        const __m256i v = _mm256_cvtepu8_epi32(load8(p));
        const __m256i even = _mm256_or_si256(v, _mm256_slli_epi32(v, 12));
        const __m256i all = _mm256_or_si256(even, _mm256_slli_epi32(even, 6));
        return _mm256_and_si256(all, _mm256_set1_epi8(3));
    }
    // 32 bytes with a bit for each group of 32 of a block; bits 0..3 of the result belong to chunk
    // i.
    static GGUFX_INLINE V8 load_planes(const uint8_t *p, unsigned i) {
        return i == 0 ? load32(p) : _mm256_srli_epi16(load32(p), 4);
    }
    // Returns 0xff in byte i if bit i of the four bytes is set, else 0.
    static GGUFX_INLINE V8 spread_bits(const uint8_t *p) {
        const __m256i bytes =
            _mm256_setr_epi64x(0, 0x0101010101010101, 0x0202020202020202, 0x0303030303030303);
        const __m256i bit = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201));
        const __m256i v = _mm256_shuffle_epi8(_mm256_set1_epi32(load_i32le(p)), bytes);
        return _mm256_cmpeq_epi8(_mm256_and_si256(v, bit), bit);
    }
    static GGUFX_INLINE V8 zero_codes() { return _mm256_setzero_si256(); }
    // Adds Set to v in bytes whose bit of the four bytes is set. (Signed codes: Clear in the
    // others.)
    template <int Set, int Clear> static GGUFX_INLINE V8 add_bits(V8 v, const uint8_t *p, size_t) {
        return _mm256_or_si256(v, _mm256_and_si256(spread_bits(p), _mm256_set1_epi8(Set)));
    }
    // Bits At .. At + N - 1 of each byte.
    template <unsigned At, unsigned N> static GGUFX_INLINE V8 bits(V8 v) {
        return _mm256_and_si256(_mm256_srli_epi16(v, At), _mm256_set1_epi8((1 << N) - 1));
    }
    // The same below the bits of `high` from HighAt on, Bits in total.
    template <unsigned At, unsigned N, unsigned HighAt, unsigned Bits>
    static GGUFX_INLINE V8 join(V8 low, V8 high) {
        const V8 h = HighAt < N ? _mm256_slli_epi16(high, (N - HighAt) % 8)
                                : _mm256_srli_epi16(high, (HighAt - N) % 8);
        return _mm256_or_si256(bits<At, N>(low),
                               _mm256_and_si256(h, _mm256_set1_epi8((1 << Bits) - (1 << N))));
    }
    // table[code] + offset; 16 values.
    static GGUFX_INLINE V8 look_up(const int8_t *table, V8 codes, int offset) {
        const __m256i values = _mm256_broadcastsi128_si256(load16(table));
        const __m256i by = _mm256_set1_epi8(static_cast<char>(offset));
        return _mm256_shuffle_epi8(offset ? _mm256_add_epi8(values, by) : values, codes);
    }
    static GGUFX_INLINE V8 low_nibbles(V8 v) { return bits<0, 4>(v); }
    static GGUFX_INLINE V8 high_nibbles(V8 v) { return bits<4, 4>(v); }

    // 3 * v / 256, 0..2, for the bytes of chunk i.
    static GGUFX_INLINE V8 top_trits(Half first, Half second, unsigned i) {
        const V8 v = i == 0 ? first : second, one = _mm256_set1_epi8(1);
        const V8 some = _mm256_min_epu8(_mm256_subs_epu8(v, _mm256_set1_epi8(85)), one);
        const V8 two = _mm256_subs_epu8(v, _mm256_set1_epi8(static_cast<char>(170)));
        return _mm256_add_epi8(some, _mm256_min_epu8(two, one));
    }

    // ---- scales ---------------------------------------------------------------------------------

    static GGUFX_INLINE Sixteen load_sixteen(const uint8_t *p, size_t) {
        return (Sixteen)load16(p);
    }
    static GGUFX_INLINE Sixteen load_eights(const uint8_t *p, size_t) { return (Sixteen)load8(p); }
    // Byte k becomes byte I[k] of each 16; -1: zero.
    template <int... I> static GGUFX_INLINE Sixteen pick(Sixteen v) {
        return (Sixteen)_mm_shuffle_epi8((__m128i)v, _mm_setr_epi8(I...));
    }
    static GGUFX_INLINE Sixteen pick_at(Sixteen v, Sixteen index) {
        return (Sixteen)_mm_shuffle_epi8((__m128i)v, (__m128i)index);
    }
    // The first eight bytes, the last eight bytes, and the 16-bit words of each 16.
    static GGUFX_INLINE Vi widen_first(Sixteen v) { return _mm256_cvtepu8_epi32((__m128i)v); }
    static GGUFX_INLINE Vi widen_last(Sixteen v) {
        return _mm256_cvtepu8_epi32(_mm_unpackhi_epi64((__m128i)v, (__m128i)v));
    }
    static GGUFX_INLINE Vi widen_words(Sixteen v) { return _mm256_cvtepu16_epi32((__m128i)v); }
    // Signed scales of 16 groups: those of chunk i in the order of group_sums; all in order.
    static GGUFX_INLINE Vi group_scales(Sixteen v, unsigned i) {
        // lane L, element j of group_sums is group 2j + L of the chunk
        const Sixteen s = pick<0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15>(v);
        return _mm256_cvtepi8_epi32(i == 0 ? (__m128i)s
                                           : _mm_unpackhi_epi64((__m128i)s, (__m128i)s));
    }
    static GGUFX_INLINE V16 widen_groups(Sixteen v) { return _mm256_cvtepi8_epi16((__m128i)v); }
    // Field l of a word per 256-block goes to lane l of its eight.
    template <unsigned Bits> static GGUFX_INLINE Vi lane_fields(uint32_t word, uint32_t) {
        const __m256i lanes =
            _mm256_setr_epi32(0, Bits, 2 * Bits, 3 * Bits, 4 * Bits, 5 * Bits, 6 * Bits, 7 * Bits);
        return _mm256_srlv_epi32(_mm256_set1_epi32(static_cast<int32_t>(word)), lanes);
    }
    // 8 words, and every second word of 16.
    static GGUFX_INLINE Vi load_words(const uint8_t *p, size_t) { return load32(p); }
    static GGUFX_INLINE Vi load_odd_words(const uint8_t *p, size_t) {
        const __m256 a = _mm256_castsi256_ps(load32(p)), b = _mm256_castsi256_ps(load32(p + 32));
        const __m256i words = _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xdd)); // 0 1 4 5 2 3 6 7
        return _mm256_permute4x64_epi64(words, 0xd8);
    }
    // A byte of each of 8 blocks, and four adjacent bytes of each of 2.
    static GGUFX_INLINE Vi gather_bytes(const uint8_t *p, size_t stride) {
        const auto at = [&](unsigned i) __attribute__((always_inline)) {
            return static_cast<int32_t>(p[i * stride]);
        };
        return _mm256_setr_epi32(at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7));
    }
    static GGUFX_INLINE Vi gather_fours(const uint8_t *p, size_t stride) {
        return _mm256_cvtepu8_epi32(_mm_setr_epi32(load_i32le(p), load_i32le(p + stride), 0, 0));
    }
};

} // namespace
} // namespace ggufx::kernels::avx2
