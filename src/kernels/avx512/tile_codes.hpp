// Tiles of Q2_K and Q3_K on AVX-512. Rows are transposed while four codes are still one byte. Then
// a lane is a row, and two codes at a time are multiplied by their sub-scale.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/vec.hpp"
#include "kernels/loops/tile_codes.hpp"
#include "kernels/loops/unpack/kquants.hpp"

namespace ggufx::kernels::avx512 {
namespace {

// Sub-scale of each row, repeated in all bytes of its lane. times() computes the tile codes from
// the low two bits of the codes: Folded in loops/unpack.hpp.
template <class F> struct SubScale;

template <> struct SubScale<fmt::Q2_K> {
    static constexpr bool kHigh = false;
    __m512i words;

    GGUFX_INLINE explicit SubScale(__m512i s)
        : words(_mm512_and_si512(s, _mm512_set1_epi16(255))) {}
    GGUFX_INLINE __m512i times(__m512i low, __m512i) const { // at most 45: no carry
        return _mm512_mullo_epi16(low, words);
    }
};
// 128 - (low - (4 if the high bit is clear)) * s.
template <> struct SubScale<fmt::Q3_K> {
    static constexpr bool kHigh = true;
    __m512i minus, fourfold;

    GGUFX_INLINE explicit SubScale(__m512i s)
        : minus(_mm512_sub_epi16(_mm512_setzero_si512(), _mm512_srai_epi16(s, 8))),
          fourfold(_mm512_and_si512(_mm512_slli_epi16(s, 2), _mm512_set1_epi8(-4))) {}
    GGUFX_INLINE __m512i times(__m512i low, __m512i high_bit) const {
        // each byte is 35 .. 224: no carry, and no borrow once 128 is added
        const __m512i v =
            _mm512_add_epi16(_mm512_mullo_epi16(low, minus), _mm512_set1_epi16(-0x7f80));
        return _mm512_mask_add_epi8(v, _mm512_testn_epi8_mask(high_bit, high_bit), v, fourfold);
    }
};

// Data kept per row and block: 2-bit codes, sub-scales, high bits.
template <class F> struct TransposePacked2Bit {
    using Place = TransposePacked2Bit;
    using Block = typename F::Block;
    static constexpr bool kHigh = SubScale<F>::kHigh;
    static constexpr size_t kCodeBytes = 64, kScales = 16, kHighBits = kHigh ? 32 : 0;
    static constexpr size_t kScalesAt = kCodeBytes, kHighAt = kScalesAt + kScales;
    static constexpr size_t kOfBlock = kHighAt + kHighBits, kBytes = 2 * kOfBlock;
    static_assert(sizeof(Block{}.qs) == kCodeBytes);

    static GGUFX_INLINE void keep(uint8_t *to, const Block *b) {
        const auto groups = Unpack<F>::groups(b);
        alignas(32) uint8_t scales[sizeof groups];
        __builtin_memcpy(scales, &groups, sizeof groups);
#pragma GCC unroll 2
        for (unsigned i = 0; i < 2; i++, to += kOfBlock) {
            __builtin_memcpy(to, b[i].qs, kCodeBytes);
            __builtin_memcpy(to + kScalesAt, scales + kScales * i, kScales);
            if constexpr (kHigh) __builtin_memcpy(to + kHighAt, b[i].hmask, kHighBits);
        }
    }

    // Value 128 h + 32 j + 16 e + 4 t of a block, group 8 h + 2 j + e, and the next three. Codes:
    // field j of the four bytes from 32 h + 16 e + 4 t on. High bits: bit 4 h + j of the bytes from
    // 16 e + 4 t on.
    static GGUFX_INLINE void place(uint8_t *to, size_t n_rows, const uint8_t (*from)[kBytes]) {
        for (size_t at = 0; at < kBytes; at += kOfBlock, to += 256 * n_rows) {
            const auto row = [&](unsigned r) __attribute__((always_inline)) {
                return from[r] + at;
            };
            __m512i scales[4]; // groups 4 q .. 4 q + 3
            Vec::load_dwords(scales, row, kScalesAt);
#pragma GCC unroll 2
            for (unsigned h = 0; h < 2; h++) {
#pragma GCC unroll 2
                for (unsigned e = 0; e < 2; e++) {
                    __m512i low[4], high[4] = {};
                    Vec::load_dwords(low, row, 32 * h + 16 * e);
                    if constexpr (kHigh) Vec::load_dwords(high, row, kHighAt + 16 * e);
                    uint8_t *const first = to + (128 * h + 16 * e) * n_rows;
#pragma GCC unroll 4
                    for (unsigned j = 0; j < 4; j++) {
                        const SubScale<F> s(spread(scales[2 * h + j / 2], 2 * j % 4 + e));
                        const __m512i bit = _mm512_set1_epi8(static_cast<char>(1 << (4 * h + j)));
#pragma GCC unroll 4
                        for (unsigned t = 0; t < 4; t++) {
                            const __m512i low_codes = _mm512_and_si512(
                                _mm512_srli_epi16(low[t], 2 * j), _mm512_set1_epi8(3));
                            Vec::store_i(first + (32 * j + 4 * t) * n_rows,
                                         s.times(low_codes, _mm512_and_si512(high[t], bit)));
                        }
                    }
                }
            }
        }
    }

private:
    // Repeats byte i of each 32-bit lane in all of its bytes.
    static GGUFX_INLINE __m512i spread(__m512i v, unsigned i) {
        const __m512i first =
            _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c));
        return _mm512_shuffle_epi8(v,
                                   _mm512_add_epi8(first, _mm512_set1_epi8(static_cast<char>(i))));
    }
};

} // namespace
} // namespace ggufx::kernels::avx512

namespace ggufx::kernels {
namespace {

template <class U>
requires(U::kFolded &&__is_same(typename U::Set, avx512::Vec) && requires {
    sizeof(avx512::SubScale<typename U::Format>);
}) struct TileCodes<U> : avx512::TransposePacked2Bit<typename U::Format> {
};

} // namespace
} // namespace ggufx::kernels
