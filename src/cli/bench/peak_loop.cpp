// Peak loops of each instruction set. Intrinsics need the set's target, which templates do not pass
// on to lambdas: a macro writes the loops.
// SPDX-License-Identifier: MIT
#include "bench/peak_loop.hpp"

#include <ggufx/ggufx.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace ggufx::cli {

namespace {

constexpr unsigned kPeakSteps = 4; // per turn, each on every accumulator

// Defines the loop `name<N>` with N accumulators. The last argument adds `products` products of a
// and b to sums[i]. Asm statements hide a value in a register of the class `constraint` from the
// optimizer.
#define PEAK_LOOP(name, target, type, zero, first, second, products, constraint, ...)              \
    template <unsigned N> target void name##_turns(uint64_t turns) {                               \
        type sums[N];                                                                              \
        auto a = first;                                                                            \
        const auto b = second;                                                                     \
        for (type & sum : sums) sum = zero;                                                        \
        for (uint64_t turn = 0; turn < turns; turn++) {                                            \
            _Pragma("GCC unroll 4") for (unsigned step = 0; step < kPeakSteps; step++) {           \
                _Pragma("GCC unroll 24") for (unsigned i = 0; i < N; i++) {                        \
                    __VA_ARGS__;                                                                   \
                }                                                                                  \
            }                                                                                      \
            _Pragma("GCC unroll 24") for (unsigned i = 0; i < N;                                   \
                                          i++) asm volatile("" : "+" constraint(sums[i]));         \
        }                                                                                          \
    }                                                                                              \
    template <unsigned N>                                                                          \
    constexpr PeakLoop name = {name##_turns<N>, 2.0 * (products)*kPeakSteps *N};

// Changes `a` in each step, or the products would be computed only once.
#define CHANGE(a, constraint) asm volatile("" : "+" constraint(a))

// Floats pass the asm statements in general registers: slower than possible, as scalar code is.
#define SCALAR_LOOP(name, type)                                                                    \
    PEAK_LOOP(name, , type, 0, type(3), type(5), 1, "r", CHANGE(a, "r"); sums[i] += a * b;         \
              CHANGE(sums[i], "r"))
SCALAR_LOOP(scalar_int, uint32_t)
SCALAR_LOOP(scalar_float, float)
constexpr PeakLoop kScalarInt[] = {scalar_int<4>, scalar_int<8>};
constexpr PeakLoop kScalarFloat[] = {scalar_float<4>, scalar_float<8>};

#if defined(__x86_64__)

#define TARGET(names) __attribute__((target(names)))
// vpmaddubsw, vpmaddwd and vpaddd: three instructions for 32 products.
PEAK_LOOP(avx2_int, TARGET("avx2,fma"), __m256i, _mm256_setzero_si256(), _mm256_set1_epi8(3),
          _mm256_set1_epi8(5), 32, "x", CHANGE(a, "x");
          sums[i] = _mm256_add_epi32(sums[i], _mm256_madd_epi16(_mm256_maddubs_epi16(a, b),
                                                                _mm256_set1_epi16(1))))
PEAK_LOOP(avx2_fma, TARGET("avx2,fma"), __m256, _mm256_setzero_ps(), _mm256_set1_ps(1.0f),
          _mm256_set1_ps(2.0f), 8, "x", sums[i] = _mm256_fmadd_ps(a, b, sums[i]))
PEAK_LOOP(avxvnni_dot, TARGET("avx2,avxvnni"), __m256i, _mm256_setzero_si256(), _mm256_set1_epi8(3),
          _mm256_set1_epi8(5), 32, "x", sums[i] = _mm256_dpbusd_avx_epi32(sums[i], a, b))
PEAK_LOOP(avx512_dot, TARGET("avx512f,avx512vnni"), __m512i, _mm512_setzero_si512(),
          _mm512_set1_epi8(3), _mm512_set1_epi8(5), 64, "v",
          sums[i] = _mm512_dpbusd_epi32(sums[i], a, b))
PEAK_LOOP(avx512_fma, TARGET("avx512f,avx512vnni"), __m512, _mm512_setzero_ps(),
          _mm512_set1_ps(1.0f), _mm512_set1_ps(2.0f), 16, "v",
          sums[i] = _mm512_fmadd_ps(a, b, sums[i]))
constexpr PeakLoop kAvx2Int[] = {avx2_int<8>, avx2_int<10>, avx2_int<12>};
constexpr PeakLoop kAvx2Fma[] = {avx2_fma<8>, avx2_fma<10>, avx2_fma<12>};
constexpr PeakLoop kAvxvnniDot[] = {avxvnni_dot<8>, avxvnni_dot<10>, avxvnni_dot<12>};
constexpr PeakLoop kAvx512Dot[] = {avx512_dot<8>, avx512_dot<12>, avx512_dot<16>, avx512_dot<24>};
constexpr PeakLoop kAvx512Fma[] = {avx512_fma<8>, avx512_fma<12>, avx512_fma<16>, avx512_fma<24>};

#elif defined(__aarch64__)

#ifdef __clang__
#define DOT_TARGET __attribute__((target("dotprod")))
#else
#define DOT_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
// In assembly: the intrinsic exists only if the whole file is compiled for the instruction.
PEAK_LOOP(neon_dot, DOT_TARGET, int32x4_t, vdupq_n_s32(0), vdupq_n_s8(3), vdupq_n_s8(5), 16, "w",
          asm volatile("sdot %0.4s, %1.16b, %2.16b"
                       : "+w"(sums[i])
                       : "w"(a), "w"(b)))
// smull, smlal2 and sadalp: three instructions for 16 products.
PEAK_LOOP(neon_int, , int32x4_t, vdupq_n_s32(0), vdupq_n_s8(3), vdupq_n_s8(5), 16, "w",
          CHANGE(a, "w");
          sums[i] = vpadalq_s16(sums[i],
                                vmlal_high_s8(vmull_s8(vget_low_s8(a), vget_low_s8(b)), a, b)))
PEAK_LOOP(neon_fma, , float32x4_t, vdupq_n_f32(0.0f), vdupq_n_f32(1.0f), vdupq_n_f32(2.0f), 4, "w",
          sums[i] = vfmaq_f32(sums[i], a, b))
constexpr PeakLoop kNeonDot[] = {neon_dot<8>, neon_dot<16>, neon_dot<24>};
constexpr PeakLoop kNeonInt[] = {neon_int<8>, neon_int<12>, neon_int<16>};
constexpr PeakLoop kNeonFma[] = {neon_fma<8>, neon_fma<16>, neon_fma<24>};

#endif

template <size_t N> PeakLoops all(const PeakLoop (&loops)[N]) {
    return {loops, N};
}

} // namespace

PeakLoops peak_loops(int32_t isa, bool f32) {
    switch (isa) {
#if defined(__x86_64__)
    case GGUFX_ISA_AVX512:
        return f32 ? all(kAvx512Fma) : all(kAvx512Dot);
    case GGUFX_ISA_AVXVNNI:
        return f32 ? all(kAvx2Fma) : all(kAvxvnniDot);
    case GGUFX_ISA_AVX2:
        return f32 ? all(kAvx2Fma) : all(kAvx2Int);
#elif defined(__aarch64__)
    case GGUFX_ISA_NEON:
        return f32 ? all(kNeonFma) : all(kNeonInt);
    case GGUFX_ISA_NEON_DOT:
        return f32 ? all(kNeonFma) : all(kNeonDot);
#endif
    default:
        return f32 ? all(kScalarFloat) : all(kScalarInt);
    }
}

} // namespace ggufx::cli
