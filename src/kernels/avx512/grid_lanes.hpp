// Row-wise products of the ternary IQ types, whose tables are too long for shuffles
// (vbmi_rows8.hpp). Grid rows are ordered so that a lane adds values of one group only, and
// activations are packed to match.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/grid.hpp"
#include "kernels/avx512/planes.hpp"

namespace ggufx::kernels::avx512 {
namespace {

// Returns the row of a 256-block in eight bytes m of vector j. IQ1_S: the four rows of a block of
// 32 are in four vectors. IQ1_M: two rows per group, groups 8..15 in the last two vectors.
template <class F> constexpr unsigned ternary_row(unsigned j, unsigned m) {
    return F::kGroup == 32 ? 4 * m + j : 2 * (8 * (j / 2) + m) + j % 2;
}

template <class Grid> struct TernaryVec : PlaneVec {
    // IQ1_S: sums of half blocks, those of one block in adjacent lanes. IQ1_M: sums of 16, in
    // order.
    template <class U> static GGUFX_INLINE Vi group_sums(const V8 (&c)[4], const int8_t *q) {
        if constexpr (Grid::kGroup == 32) return PlaneVec::group_sums<U>(c, q);
        const Vi z = _mm512_setzero_si512();
        const Vi p0 = _mm512_dpbusd_epi32(z, c[0], _mm512_load_si512(q));
        const Vi p1 = _mm512_dpbusd_epi32(z, c[2], _mm512_load_si512(q + 128));
        return pair_sums(_mm512_dpbusd_epi32(p0, c[1], _mm512_load_si512(q + 64)),
                         _mm512_dpbusd_epi32(p1, c[3], _mm512_load_si512(q + 192)));
    }
    // Reorders the codes of each 256 values into the order of the grid rows.
    static void to_planes(int8_t *q, size_t n) {
        for (const int8_t *end = q + n; q < end; q += 256) {
            int8_t row[256];
            __builtin_memcpy(row, q, sizeof row);
            for (unsigned k = 0; k < 32; k++)
                __builtin_memcpy(q + 8 * k, row + 8 * ternary_row<Grid>(k / 8, k % 8), 8);
        }
    }
};

// Masks of the rows of a vector with a shift of -1.
GGUFX_INLINE void minus_rows(__mmask8 (&minus)[4], const fmt::IQ1_S::Block &b) {
    minus[0] = _mm_movepi16_mask(Vec::load16(b.qh)); // one bit per block of 32
    minus[1] = minus[2] = minus[3] = minus[0];
}
GGUFX_INLINE void minus_rows(__mmask8 (&minus)[4], const fmt::IQ1_M::Block &b) {
    const __m128i nibbles = Vec::load16(b.qh); // two rows per byte
    const unsigned first = _mm_movepi8_mask(_mm_slli_epi16(nibbles, 4));
    const unsigned second = _mm_movepi8_mask(nibbles);
    minus[0] = static_cast<__mmask8>(first);
    minus[1] = static_cast<__mmask8>(second);
    minus[2] = static_cast<__mmask8>(first >> 8);
    minus[3] = static_cast<__mmask8>(second >> 8);
}

template <class F>
requires(kTernaryGrid<F>) struct UnpackPlanes<F>
    : ScalesOf<Unpack<F>, TernaryVec<F>, F, Unpack<F>::kOffset, Unpack<F>::kMaxCode> {
    using Block = typename F::Block;
    static constexpr bool kLongSteps = true;
    static constexpr unsigned kMostPlanes = 1; // 15 bits use AVX2
    // Blocks with the indices of all grid rows.
    struct Step {
        const Block *blocks;
        RowNumbers<F, X86Halves, 32> numbers[2];
        GGUFX_INLINE operator const Block *() const { return blocks; }
    };
    static GGUFX_INLINE void begin(Step &to, const Block *b) {
        to.blocks = b;
        to.numbers[0].make(b[0], 0);
        to.numbers[1].make(b[1], 0);
    }
    static GGUFX_INLINE void load_u8(__m512i (&c)[4], const Step &step, unsigned i) {
        const Block &b = step.blocks[i];
        __mmask8 minus[4];
        minus_rows(minus, b);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const auto half = [&](unsigned first) __attribute__((always_inline)) {
                return join_rows<8>([&](unsigned m) __attribute__((always_inline)) {
                    return step.numbers[i].row(b, 0, ternary_row<F>(j, first + m));
                });
            };
            const __m512i rows = Vec::two_of_32(half(0), half(4));
            const __m512i shift =
                _mm512_mask_mov_epi64(_mm512_set1_epi8(Unpack<F>::kOffset - 8 + 1), minus[j],
                                      _mm512_set1_epi8(Unpack<F>::kOffset - 8 - 1));
            c[j] = _mm512_add_epi8(eight_times(rows), shift);
        }
    }
};

} // namespace
} // namespace ggufx::kernels::avx512
