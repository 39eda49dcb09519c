// Peaks of NEON: fmla and sdot; without sdot smull, smlal2 and sadalp, three for 16 products.
// SPDX-License-Identifier: MIT
#include "bench/peak_loop.hpp"

#if defined(__aarch64__)
#include <arm_neon.h>

namespace ggufx::cli {

// In assembly: the intrinsic exists only if the whole file is compiled for the instruction.
#ifdef __clang__
#define DOT_TARGET __attribute__((target("dotprod")))
#else
#define DOT_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
template <unsigned N> DOT_TARGET static void dot(uint64_t turns) {
    int32x4_t sums[N];
    const int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
    for (int32x4_t &sum : sums) sum = vdupq_n_s32(0);
    for (uint64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 4
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) {
                asm volatile("sdot %0.4s, %1.16b, %2.16b" : "+w"(sums[i]) : "w"(a), "w"(b));
            }
        }
    }
}

template <unsigned N> static void multiply_add(uint64_t turns) {
    int32x4_t sums[N];
    int8x16_t a = vdupq_n_s8(3), b = vdupq_n_s8(5);
    for (int32x4_t &sum : sums) sum = vdupq_n_s32(0);
    for (uint64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 4
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) {
                asm volatile("" : "+w"(a));
                const int16x8_t low = vmull_s8(vget_low_s8(a), vget_low_s8(b));
                sums[i] = vpadalq_s16(sums[i], vmlal_high_s8(low, a, b));
            }
        }
#pragma GCC unroll 24
        for (unsigned i = 0; i < N; i++) asm volatile("" : "+w"(sums[i]));
    }
}

template <unsigned N> static void fma(uint64_t turns) {
    float32x4_t sums[N];
    const float32x4_t a = vdupq_n_f32(1.0f), b = vdupq_n_f32(2.0f);
    for (float32x4_t &sum : sums) sum = vdupq_n_f32(0.0f);
    for (uint64_t turn = 0; turn < turns; turn++) {
#pragma GCC unroll 4
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) sums[i] = vfmaq_f32(sums[i], a, b);
        }
#pragma GCC unroll 24
        for (unsigned i = 0; i < N; i++) asm volatile("" : "+w"(sums[i]));
    }
}

template <unsigned N> constexpr PeakLoop dot_loop() {
    return {dot<N>, 2.0 * 16 * kPeakSteps * N};
}
template <unsigned N> constexpr PeakLoop int_loop() {
    return {multiply_add<N>, 2.0 * 16 * kPeakSteps * N};
}
template <unsigned N> constexpr PeakLoop fma_loop() {
    return {fma<N>, 2.0 * 4 * kPeakSteps * N};
}
static constexpr PeakLoop kDot[] = {dot_loop<8>(), dot_loop<16>(), dot_loop<24>()};
static constexpr PeakLoop kInt[] = {int_loop<8>(), int_loop<12>(), int_loop<16>()};
static constexpr PeakLoop kFma[] = {fma_loop<8>(), fma_loop<16>(), fma_loop<24>()};

PeakLoops peak_neon(bool f32) {
    return {f32 ? kFma : kInt, 3};
}
PeakLoops peak_neon_dot(bool f32) {
    return {f32 ? kFma : kDot, 3};
}

} // namespace ggufx::cli

#else
namespace ggufx::cli {
PeakLoops peak_neon(bool) {
    return {nullptr, 0};
}
PeakLoops peak_neon_dot(bool) {
    return {nullptr, 0};
}
} // namespace ggufx::cli
#endif
