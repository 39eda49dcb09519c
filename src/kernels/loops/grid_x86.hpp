// Grid rows of 32 values in a register.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/grid.hpp"
#include "kernels/loops/x86.hpp"

namespace ggufx::kernels {
namespace {

// 16 bytes from two rows of 8, or from four of 4.
GGUFX_INLINE __m128i join_rows(const int8_t *a, const int8_t *b) {
    const __m128d low = _mm_castsi128_pd(X86Bytes::load8(a));
    return _mm_castpd_si128(_mm_loadh_pd(low, reinterpret_cast<const double *>(b)));
}
GGUFX_INLINE __m128i join_rows(const int8_t *a, const int8_t *b, const int8_t *c, const int8_t *d) {
    const __m128i low = _mm_insert_epi32(_mm_cvtsi32_si128(load_i32le(a)), load_i32le(b), 1);
    return _mm_insert_epi32(_mm_insert_epi32(low, load_i32le(c), 2), load_i32le(d), 3);
}

// Of 32-block j of a half.
template <class F>
GGUFX_INLINE __m256i load_rows(const typename F::Block &b, unsigned half, unsigned j) {
    const auto row = [&](unsigned k) __attribute__((always_inline)) {
        return GridRows<F>::row(b, half, 32 / GridRows<F>::kBytes * j + k);
    };
    if constexpr (GridRows<F>::kBytes == 8)
        return X86Bytes::two_of_16(join_rows(row(0), row(1)), join_rows(row(2), row(3)));
    else
        return X86Bytes::two_of_16(join_rows(row(0), row(1), row(2), row(3)),
                                   join_rows(row(4), row(5), row(6), row(7)));
}

} // namespace
} // namespace ggufx::kernels
