// Peaks of AVX2: vpmaddubsw, vpmaddwd and vpaddd, three instructions for 32 products, and fma.
// SPDX-License-Identifier: MIT
#include "bench/peak_loop.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace ggufx::cli {

#define TARGET __attribute__((target("avx2,fma")))

// The asm statement changes the operand in each step, or the products would be computed only once.
template <unsigned N> TARGET static void multiply_add(uint64_t turns) {
    __m256i sums[N], a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
    const __m256i one = _mm256_set1_epi16(1);
    for (__m256i &sum : sums) sum = _mm256_setzero_si256();
    for (uint64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 4
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) {
                asm volatile("" : "+x"(a));
                const __m256i pairs = _mm256_madd_epi16(_mm256_maddubs_epi16(a, b), one);
                sums[i] = _mm256_add_epi32(sums[i], pairs);
            }
        }
#pragma GCC unroll 24
        for (unsigned i = 0; i < N; i++) asm volatile("" : "+x"(sums[i]));
    }
}

template <unsigned N> TARGET static void fma(uint64_t turns) {
    __m256 sums[N], a = _mm256_set1_ps(1.0f), b = _mm256_set1_ps(2.0f);
    for (__m256 &sum : sums) sum = _mm256_setzero_ps();
    for (uint64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 4
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) sums[i] = _mm256_fmadd_ps(a, b, sums[i]);
        }
#pragma GCC unroll 24
        for (unsigned i = 0; i < N; i++) asm volatile("" : "+x"(sums[i]));
    }
}

template <unsigned N> constexpr PeakLoop int_loop() {
    return {multiply_add<N>, 2.0 * 32 * kPeakSteps * N};
}
template <unsigned N> constexpr PeakLoop fma_loop() {
    return {fma<N>, 2.0 * 8 * kPeakSteps * N};
}
static constexpr PeakLoop kInt[] = {int_loop<8>(), int_loop<10>(), int_loop<12>()};
static constexpr PeakLoop kFma[] = {fma_loop<8>(), fma_loop<10>(), fma_loop<12>()};

PeakLoops peak_avx2(bool f32) {
    return {f32 ? kFma : kInt, 3};
}

} // namespace ggufx::cli

#else
namespace ggufx::cli {
PeakLoops peak_avx2(bool) {
    return {nullptr, 0};
}
} // namespace ggufx::cli
#endif
