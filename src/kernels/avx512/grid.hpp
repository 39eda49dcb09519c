// Codes of the IQ types on AVX-512, for tiles and dequantization: signs are masks.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx512/vec.hpp"
#include "kernels/loops/grid_x86.hpp"
#include "kernels/loops/unpack/parts.hpp"

namespace ggufx::kernels::avx512 {
namespace {

// 8 * v + 8 for -1, 0 and 1.
GGUFX_INLINE __m512i eight_times(__m512i v) {
    return _mm512_shuffle_epi8(_mm512_set1_epi16(0x1008), v); // -1: 0
}

// Codes + U::kOffset from grid values, with a bit for each negative value.
template <class U> GGUFX_INLINE __m512i grid_codes(__m512i v, __mmask64 minus) {
    const __m512i offset = _mm512_set1_epi8(U::kOffset);
    if constexpr (kTernaryGrid<typename U::Format>) {
        const __m512i shift = _mm512_mask_mov_epi8(_mm512_set1_epi8(U::kOffset - 8 + 1), minus,
                                                   _mm512_set1_epi8(U::kOffset - 8 - 1));
        return _mm512_add_epi8(eight_times(v), shift);
    } else {
        return _mm512_mask_sub_epi8(_mm512_add_epi8(offset, v), minus, offset, v);
    }
}

template <class U>
GGUFX_INLINE void load_grid(__m512i (&c)[4], const typename U::Block *b, unsigned i) {
    using Rows = GridRows<typename U::Format>;
    constexpr unsigned n_all = 256 / Rows::kBytes, n_32 = 32 / Rows::kBytes;
    RowNumbers<typename U::Format, X86Halves, n_all> numbers;
    numbers.make(b[i], 0);
    const auto signs = (__m256i)Rows::template signs<X86Halves>(b[i], 0);
    alignas(32) uint64_t minus[4]; // 32-blocks j and 4 + j
    _mm256_store_si256(
        reinterpret_cast<__m256i *>(minus),
        _mm256_permutevar8x32_epi32(signs, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) {
        const auto rows_from = [&](unsigned first) __attribute__((always_inline)) {
            return join_rows<Rows::kBytes>([&](unsigned s) __attribute__((always_inline)) {
                return numbers.row(b[i], 0, first + s);
            });
        };
        c[j] =
            grid_codes<U>(U::two_of_32(rows_from(n_32 * j), rows_from(n_32 * (4 + j))), minus[j]);
    }
}

// Row-wise products of IQ2 and IQ3 use the layers below and above; those of IQ1 are in
// grid_lanes.hpp.
template <class F>
requires(GridRows<F>::kBytes != 0 && !kTernaryGrid<F>) struct UnpackPlanes<F> {
};

} // namespace
} // namespace ggufx::kernels::avx512
