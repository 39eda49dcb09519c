// Peak of AVX-VNNI: vpdpbusd on 32-byte registers; f32 has the peak of AVX2.
// SPDX-License-Identifier: MIT
#include "bench/peak_loop.hpp"

#if defined(__x86_64__)
#include <immintrin.h>

namespace ggufx::cli {

template <unsigned N> __attribute__((target("avx2,avxvnni"))) static void dot(uint64_t turns) {
    __m256i sums[N], a = _mm256_set1_epi8(3), b = _mm256_set1_epi8(5);
    for (__m256i &sum : sums) sum = _mm256_setzero_si256();
    for (uint64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 4
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) sums[i] = _mm256_dpbusd_avx_epi32(sums[i], a, b);
        }
#pragma GCC unroll 24
        for (unsigned i = 0; i < N; i++) asm volatile("" : "+x"(sums[i]));
    }
}

template <unsigned N> constexpr PeakLoop dot_loop() {
    return {dot<N>, 2.0 * 32 * kPeakSteps * N};
}
static constexpr PeakLoop kDot[] = {dot_loop<8>(), dot_loop<10>(), dot_loop<12>()};

PeakLoops peak_avxvnni(bool f32) {
    return f32 ? peak_avx2(true) : PeakLoops{kDot, 3};
}

} // namespace ggufx::cli

#else
namespace ggufx::cli {
PeakLoops peak_avxvnni(bool) {
    return {nullptr, 0};
}
} // namespace ggufx::cli
#endif
