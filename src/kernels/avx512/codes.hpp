// AVX-512 primitives that read codes and scales of formats. A chunk is a whole 256-block; vector j
// holds its 32-blocks j and 4 + j, the second of which is `far` bytes after the first.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/x86.hpp"

namespace ggufx::kernels::avx512 {
namespace {

struct Codes : X86Halves {
    static constexpr int kSignedAbove = 255; // formats with larger codes use signed codes
    static constexpr int kLeastBound = 0;    // lower bound of the largest code
    using Vi = __m512i;                      // int32
    using V8 = __m512i;                      // codes
    using V16 = __m512i;                     // int16

    static GGUFX_INLINE __m512i two_of_32(__m256i a, __m256i b) {
        return _mm512_inserti64x4(_mm512_castsi256_si512(a), b, 1);
    }

    // ---- codes ----------------------------------------------------------------------------------

    static GGUFX_INLINE V8 load_codes(const uint8_t *p, size_t far) {
        return two_of_32(load_half(p), load_half(p + far));
    }
    // 16 bytes: low nibbles, then high nibbles.
    static GGUFX_INLINE V8 load_nibbles(const uint8_t *p, size_t far) {
        const __m512i both =
            _mm512_mask_broadcast_i32x4(_mm512_broadcast_i32x4(load16(p)), 0xff00, load16(p + far));
        const __m512i shifts = _mm512_setr_epi64(0, 0, 0x0004000400040004, 0x0004000400040004, 0, 0,
                                                 0x0004000400040004, 0x0004000400040004);
        return _mm512_and_si512(_mm512_srlv_epi16(both, shifts), _mm512_set1_epi8(15));
    }
    // 8 bytes: low nibbles, then high nibbles; then the next 8.
    static GGUFX_INLINE V8 load_nibbles8(const uint8_t *p, size_t far) {
        const __m512i both = _mm512_castsi256_si512(two_of_16(load16(p), load16(p + far)));
        const __m512i twice =
            _mm512_permutexvar_epi64(_mm512_setr_epi64(0, 0, 1, 1, 2, 2, 3, 3), both);
        const __m512i shifts = _mm512_setr_epi64(0, 4, 0, 4, 0, 4, 0, 4);
        return _mm512_and_si512(_mm512_srlv_epi64(twice, shifts), _mm512_set1_epi8(15));
    }
    // 8 bytes of four adjacent 2-bit codes each.
    static GGUFX_INLINE V8 load_2bit(const uint8_t *p, size_t far) {
        const __m512i v = _mm512_cvtepu8_epi32(_mm_unpacklo_epi64(load8(p), load8(p + far)));
        const __m512i even = _mm512_or_si512(v, _mm512_slli_epi32(v, 12));
        const __m512i all = _mm512_or_si512(even, _mm512_slli_epi32(even, 6));
        return _mm512_and_si512(all, _mm512_set1_epi8(3));
    }
    // 32 bytes with a bit for each group of 32 of a block; bits 0..3 belong to vectors 0..3.
    static GGUFX_INLINE V8 load_planes(const uint8_t *p, unsigned) {
        const __m256i v = load_half(p);
        return two_of_32(v, _mm256_srli_epi16(v, 4));
    }
    static GGUFX_INLINE V8 zero_codes() { return _mm512_setzero_si512(); }
    // Adds Set to v in bytes whose bit of the four bytes is set. (Signed codes: Clear in the
    // others.)
    template <int Set, int Clear>
    static GGUFX_INLINE V8 add_bits(V8 v, const uint8_t *p, size_t far) {
        const __mmask64 set = load_u32le(p) | uint64_t{load_u32le(p + far)} << 32;
        return _mm512_mask_add_epi8(v, set, v, _mm512_set1_epi8(Set));
    }
    // Bits At .. At + N - 1 of each byte.
    template <unsigned At, unsigned N> static GGUFX_INLINE V8 bits(V8 v) {
        return _mm512_and_si512(shift_down<At>(v), _mm512_set1_epi8((1 << N) - 1));
    }
    // The same below the bits of `high` from HighAt on, Bits in total.
    template <unsigned At, unsigned N, unsigned HighAt, unsigned Bits>
    static GGUFX_INLINE V8 join(V8 low, V8 high) {
        if constexpr (N == 4 && Bits == 5) { // shifts use the dot product port: Q5_K time - 6 %
            const __mmask64 set = _mm512_test_epi8_mask(high, _mm512_set1_epi8(1 << HighAt));
            const V8 four = bits<At, N>(low);
            return _mm512_mask_add_epi8(four, set, four, _mm512_set1_epi8(1 << N));
        }
        const V8 h =
            _mm512_and_si512(shift_down<static_cast<int>(HighAt) - static_cast<int>(N)>(high),
                             _mm512_set1_epi8((1 << Bits) - (1 << N)));
        return _mm512_ternarylogic_epi64(h, shift_down<At>(low), _mm512_set1_epi8((1 << N) - 1),
                                         0xf8); // h | low & mask
    }
    template <int By> static GGUFX_INLINE V8 shift_down(V8 v) {
        if constexpr (By == 0) return v;
        return By < 0 ? _mm512_slli_epi16(v, -By % 8) : _mm512_srli_epi16(v, By % 8);
    }
    // table[code] + offset; 16 values.
    static GGUFX_INLINE V8 look_up(const int8_t *table, V8 codes, int offset) {
        const __m512i values = _mm512_broadcast_i32x4(load16(table));
        return _mm512_shuffle_epi8(
            _mm512_add_epi8(values, _mm512_set1_epi8(static_cast<char>(offset))), codes);
    }
    static GGUFX_INLINE V8 low_nibbles(V8 v) { return bits<0, 4>(v); }
    static GGUFX_INLINE V8 high_nibbles(V8 v) { return bits<4, 4>(v); }

    // 3 * v / 256, 0..2.
    static GGUFX_INLINE V8 top_trits(Half first, Half second, unsigned) {
        const V8 v = two_of_32(first, second), one = _mm512_set1_epi8(1);
        const V8 some = _mm512_min_epu8(_mm512_subs_epu8(v, _mm512_set1_epi8(85)), one);
        const V8 two = _mm512_subs_epu8(v, _mm512_set1_epi8(static_cast<char>(170)));
        return _mm512_add_epi8(some, _mm512_min_epu8(two, one));
    }

    // ---- scales ---------------------------------------------------------------------------------

    // The first eight bytes, the last eight bytes, and the 16-bit words of each 16.
    static GGUFX_INLINE Vi widen_first(Sixteen v) { return widen_quarters<0x08>(v); }
    static GGUFX_INLINE Vi widen_last(Sixteen v) { return widen_quarters<0x0d>(v); }
    template <int Order> static GGUFX_INLINE Vi widen_quarters(Sixteen v) {
        return _mm512_cvtepu8_epi32(
            _mm256_castsi256_si128(_mm256_permute4x64_epi64((__m256i)v, Order)));
    }
    static GGUFX_INLINE Vi widen_words(Sixteen v) { return _mm512_cvtepu16_epi32((__m256i)v); }
    // Signed scales of 16 groups: those of block i in the order of group_sums; all in order.
    static GGUFX_INLINE Vi group_scales(Sixteen v, unsigned i) {
        // lane L, element j of group_sums is group 2j + L of the block, 4 + 2j + L from L = 2 on
        return groups_in_order(pick<0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15>(v), i);
    }
    static GGUFX_INLINE Vi groups_in_order(Sixteen v, unsigned i) {
        return _mm512_cvtepi8_epi32(i == 0 ? _mm256_castsi256_si128((__m256i)v)
                                           : _mm256_extracti128_si256((__m256i)v, 1));
    }
    static GGUFX_INLINE V16 widen_groups(Sixteen v) { return _mm512_cvtepi8_epi16((__m256i)v); }
    // Field l of a word per 256-block goes to lane l of its eight.
    template <unsigned Bits> static GGUFX_INLINE Vi lane_fields(uint32_t first, uint32_t second) {
        const __m256i lanes =
            _mm256_setr_epi32(0, Bits, 2 * Bits, 3 * Bits, 4 * Bits, 5 * Bits, 6 * Bits, 7 * Bits);
        const __m512i both = _mm512_mask_set1_epi32(_mm512_set1_epi32(static_cast<int32_t>(first)),
                                                    0xff00, static_cast<int32_t>(second));
        return _mm512_srlv_epi32(both, _mm512_broadcast_i64x4(lanes));
    }
    // 8 words, and every second word of 16.
    static GGUFX_INLINE Vi load_words(const uint8_t *p, size_t far) { return load_codes(p, far); }
    static GGUFX_INLINE Vi load_odd_words(const uint8_t *p, size_t far) {
        const __m512i odd =
            _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        return _mm512_permutex2var_epi32(_mm512_loadu_si512(p), odd, _mm512_loadu_si512(p + far));
    }
    // A byte of each of 16 blocks, and four adjacent bytes of each of 4.
    static GGUFX_INLINE Vi gather_bytes(const uint8_t *p, size_t stride) {
        const auto at = [&](unsigned i) __attribute__((always_inline)) {
            return static_cast<char>(p[i * stride]);
        };
        return _mm512_cvtepu8_epi32(_mm_setr_epi8(at(0), at(1), at(2), at(3), at(4), at(5), at(6),
                                                  at(7), at(8), at(9), at(10), at(11), at(12),
                                                  at(13), at(14), at(15)));
    }
    static GGUFX_INLINE Vi gather_fours(const uint8_t *p, size_t stride) {
        const auto four = [&](unsigned i) __attribute__((always_inline)) {
            return load_i32le(p + i * stride);
        };
        return _mm512_cvtepu8_epi32(_mm_setr_epi32(four(0), four(1), four(2), four(3)));
    }
};

} // namespace
} // namespace ggufx::kernels::avx512
