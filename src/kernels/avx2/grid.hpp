// Codes of the IQ types on AVX2: grid rows times 1 or -1.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/avx2/vec.hpp"
#include "kernels/loops/grid_x86.hpp"

namespace ggufx::kernels::avx2 {
namespace {

// -1 for the values of 32-block J of the half whose bit is set, else 1. Signs in both lanes.
template <unsigned J> GGUFX_INLINE __m256i sign_factors(__m256i signs) {
    constexpr int64_t k = 0x0101010101010101;
    const __m256i spread =
        _mm256_setr_epi64x((4 * J) * k, (4 * J + 1) * k, (4 * J + 2) * k, (4 * J + 3) * k);
    const __m256i bits = _mm256_set1_epi64x(static_cast<int64_t>(0x8040201008040201u));
    const __m256i v = _mm256_and_si256(_mm256_shuffle_epi8(signs, spread), bits);
    return _mm256_or_si256(_mm256_cmpeq_epi8(v, bits), _mm256_set1_epi8(1));
}

// Codes + offset of 32-block J of the half.
template <class U, unsigned J>
GGUFX_INLINE __m256i grid_codes(const typename U::Block &b, unsigned half, __m256i signs) {
    using F = typename U::Format;
    const __m256i v = load_rows<F>(b, half, J), factors = sign_factors<J>(signs);
    const __m256i offset = _mm256_set1_epi8(U::kOffset);
    if constexpr (kTernaryGrid<F>) {
        const __m256i eight = _mm256_and_si256(_mm256_slli_epi16(v, 3), _mm256_set1_epi8(-8));
        return _mm256_add_epi8(_mm256_add_epi8(eight, factors), offset);
    } else {
        return _mm256_add_epi8(_mm256_sign_epi8(v, factors), offset);
    }
}

template <class U>
GGUFX_INLINE void load_grid(__m256i (&c)[4], const typename U::Block *b, unsigned i) {
    const auto half = (__m128i)GridRows<typename U::Format>::template signs<U>(*b, i);
    const __m256i signs = _mm256_broadcastsi128_si256(half);
    c[0] = grid_codes<U, 0>(*b, i, signs);
    c[1] = grid_codes<U, 1>(*b, i, signs);
    c[2] = grid_codes<U, 2>(*b, i, signs);
    c[3] = grid_codes<U, 3>(*b, i, signs);
}

} // namespace
} // namespace ggufx::kernels::avx2
