// Peaks of AVX-512: vpdpbusd and fma on 64-byte registers.
// SPDX-License-Identifier: MIT
#include "bench/peak_loop.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace ggufx::cli {

#define TARGET __attribute__((target("avx512f,avx512vnni")))

template <unsigned N> TARGET static void dot(uint64_t turns) {
    __m512i sums[N], a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(5);
    for (__m512i &sum : sums) sum = _mm512_setzero_si512();
    for (uint64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 4
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) sums[i] = _mm512_dpbusd_epi32(sums[i], a, b);
        }
#pragma GCC unroll 24
        for (unsigned i = 0; i < N; i++) asm volatile("" : "+v"(sums[i]));
    }
}

template <unsigned N> TARGET static void fma(uint64_t turns) {
    __m512 sums[N], a = _mm512_set1_ps(1.0f), b = _mm512_set1_ps(2.0f);
    for (__m512 &sum : sums) sum = _mm512_setzero_ps();
    for (uint64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 4
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) sums[i] = _mm512_fmadd_ps(a, b, sums[i]);
        }
#pragma GCC unroll 24
        for (unsigned i = 0; i < N; i++) asm volatile("" : "+v"(sums[i]));
    }
}

template <unsigned N> constexpr PeakLoop dot_loop() {
    return {dot<N>, 2.0 * 64 * kPeakSteps * N};
}
template <unsigned N> constexpr PeakLoop fma_loop() {
    return {fma<N>, 2.0 * 16 * kPeakSteps * N};
}
static constexpr PeakLoop kDot[] = {dot_loop<8>(), dot_loop<12>(), dot_loop<16>(), dot_loop<24>()};
static constexpr PeakLoop kFma[] = {fma_loop<8>(), fma_loop<12>(), fma_loop<16>(), fma_loop<24>()};

PeakLoops peak_avx512(bool f32) {
    return {f32 ? kFma : kDot, 4};
}

} // namespace ggufx::cli

#else
namespace ggufx::cli {
PeakLoops peak_avx512(bool) {
    return {nullptr, 0};
}
} // namespace ggufx::cli
#endif
