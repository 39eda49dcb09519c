// Selects the peak loops of an instruction set; plain C++ loops for the scalar one.
// SPDX-License-Identifier: MIT
#include "bench/peak_loop.hpp"

#include <ggufx/ggufx.h>

namespace ggufx::cli {

namespace {

// The empty asm statement hides the sums from the optimizer.
template <class T, unsigned N> void multiply_add(uint64_t turns) {
    T sums[N] = {}, a = 3, b = 5;
    for (uint64_t turn = 0; turn < turns; turn++) {
        for (unsigned step = 0; step < kPeakSteps; step++) {
#pragma GCC unroll 24
            for (unsigned i = 0; i < N; i++) {
                asm volatile("" : "+r"(a));
                sums[i] += a * b;
                asm volatile("" : "+r"(sums[i]));
            }
        }
    }
}

template <class T, unsigned N> constexpr PeakLoop scalar_loop() {
    return {multiply_add<T, N>, 2.0 * kPeakSteps * N};
}
// Floats pass the asm statements in general registers: slower than possible, as scalar code is.
constexpr PeakLoop kScalarInt[] = {scalar_loop<uint32_t, 4>(), scalar_loop<uint32_t, 8>()};
constexpr PeakLoop kScalarFloat[] = {scalar_loop<float, 4>(), scalar_loop<float, 8>()};

} // namespace

PeakLoops peak_loops(int32_t isa, bool f32) {
    switch (isa) {
    case GGUFX_ISA_AVX512:
        return peak_avx512(f32);
    case GGUFX_ISA_AVXVNNI:
        return peak_avxvnni(f32);
    case GGUFX_ISA_AVX2:
        return peak_avx2(f32);
    case GGUFX_ISA_NEON:
        return peak_neon(f32);
    case GGUFX_ISA_NEON_DOT:
        return peak_neon_dot(f32);
    default:
        return f32 ? PeakLoops{kScalarFloat, 2} : PeakLoops{kScalarInt, 2};
    }
}

} // namespace ggufx::cli
