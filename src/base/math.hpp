// exp, log, pow, sin and cos without libm, whose last bit differs between systems. Every routine is
// a fixed sequence of IEEE operations, round to nearest even, subnormals kept: call them under
// CanonicalFp. Errors below are against the exact value, tests/golden/math.cpp.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <stdint.h>

#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "float expressions must be evaluated in float: on 32-bit x86 build with -msse2 -mfpmath=sse"
#endif

namespace ggufx {

// sin and cos of x radians, |x| <= 2^31, absolute error <= 1e-16; NaN beyond that.
struct SinCos {
    double sin, cos;
};
SinCos sin_cos_f64(double x);

// Relative errors <= 1.5e-16 where the result is a normal number. log(0) = -Inf, log(< 0) = NaN;
// exp and pow underflow to 0 and overflow to +Inf; pow(b, y) takes b > 0 and gives NaN for b <= 0.
double log_f64(double x);
double exp_f64(double x);
double pow_f64(double b, double y);

// Natural logarithm of a float, correctly rounded except for about one value in 10^8.
float log_f32(float x);

namespace {

constexpr uint32_t kCanonicalNan = 0x7fc00000u;

// Rounds |v| < 2^22 to the nearest integer, ties to even.
[[gnu::always_inline]] inline float round_even_f32(float v) {
    const float magic = 0x1.8p23f; // pushes the fraction out of the mantissa
    return (v + magic) - magic;
}

// exp of attention (D3, docs/reproducibility/attention.md), extended to positive x. Relative error
// <= 1.2e-7 for -87 <= x <= 88.72, +0 below -87, +Inf above 88.722832.
[[gnu::always_inline]] inline float exp_f32(float x) {
    if (x < -87.0f) return 0.0f;
    if (!(x <= 0x1.62e42ep6f)) return x > 0.0f ? f32_from_bits(0x7f800000u) : x + x; // NaN stays
    const float n = round_even_f32(x * 1.44269504f);
    // ln 2 in two parts; the first has 9 bits, so that its product with n is exact
    float r = __builtin_fmaf(-n, 0.693359375f, x);
    r = __builtin_fmaf(-n, -2.12194440e-4f, r);
    float p = 1.9875691500e-4f;
    p = __builtin_fmaf(p, r, 1.3981999507e-3f);
    p = __builtin_fmaf(p, r, 8.3334519073e-3f);
    p = __builtin_fmaf(p, r, 4.1665795894e-2f);
    p = __builtin_fmaf(p, r, 1.6666665459e-1f);
    p = __builtin_fmaf(p, r, 5.0000001201e-1f);
    p = __builtin_fmaf(p, r * r, r + 1.0f);
    const uint32_t exponent = static_cast<uint32_t>(static_cast<int32_t>(n)) << 23;
    return f32_from_bits(f32_bits(p) + exponent);
}

// Replaces any NaN by the canonical one: x86 generates 0xffc00000, Arm 0x7fc00000.
[[gnu::always_inline]] inline float canonical_nan(float x) {
    return x != x ? f32_from_bits(kCanonicalNan) : x;
}

} // namespace
} // namespace ggufx
