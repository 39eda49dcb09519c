// Conversions and roundings of quantizers, the same on every host: C leaves out-of-range
// conversions undefined, and libm's rounding calls differ in speed.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/half.hpp"

#include <math.h>
#include <stdint.h>

#if defined(__FLT_EVAL_METHOD__) && __FLT_EVAL_METHOD__ != 0
#error "float expressions must be evaluated in float: on 32-bit x86 build with -msse2 -mfpmath=sse"
#endif

namespace ggufx {
namespace rounding {
namespace {

// Groups below this count as zero.
constexpr float kTiny = 1e-15f;

// Rounds |v| <= 4194303 to nearest even. Other values and NaN give a value in -2^22 .. 2^22-1 that
// depends only on their bits.
inline int nearest(float v) {
    const uint32_t bits = f32_bits(v + 12582912.0f); // 1.5 * 2^23
    return static_cast<int>(bits & 0x007fffffu) - 0x00400000;
}

// Rounds toward zero; INT32_MIN for NaN and values beyond 32 bits, as on x86.
inline int32_t to_int(float v) {
    return v >= -2147483648.0f && v < 2147483648.0f ? static_cast<int32_t>(v) : INT32_MIN;
}

// Rounds half away from zero, otherwise as to_int().
inline int32_t round_away(float v) {
    if (!(v > -8388608.0f && v < 8388608.0f)) return to_int(v); // already whole
    const auto whole = static_cast<int32_t>(v);
    const float rest = v - static_cast<float>(whole); // exact
    return rest >= 0.5f ? whole + 1 : rest <= -0.5f ? whole - 1 : whole;
}

inline int8_t wrap8(int32_t v) {
    return static_cast<int8_t>(static_cast<uint32_t>(v) & 0xffu);
}
inline uint8_t low8(int32_t v) {
    return static_cast<uint8_t>(static_cast<uint32_t>(v) & 0xffu);
}

inline int clamp(int v, int low, int high) {
    return v < low ? low : v > high ? high : v;
}
inline int at_most(int v, int high) {
    return v < high ? v : high;
}

inline float to_f32(int v) {
    return static_cast<float>(v);
}
inline float magnitude(float v) {
    return f32_from_bits(f32_bits(v) & 0x7fffffffu);
}
inline float inverse(float d) {
    return d != 0.0f ? 1.0f / d : 0.0f;
}

// Stores a scale as f16 and returns the value that dequantization reads. NaN (from sums beyond f32)
// has one sign.
inline float store_f16(uint8_t *p, float v) {
    const uint16_t bits = v == v ? f32_to_f16(v) : uint16_t{0xfe00};
    store_u16le(p, bits);
    return f16_to_f32(bits);
}

// Returns x[0]^2 + x[1]^2 + ... in that order.
inline float sum_squares(const float *x, size_t n) {
    float sum = 0.0f;
    for (size_t i = 0; i < n; i++) sum += x[i] * x[i];
    return sum;
}

inline float largest_magnitude(const float *x, int n) {
    float most = 0.0f;
    for (int i = 0; i < n; i++) most = magnitude(x[i]) > most ? magnitude(x[i]) : most;
    return most;
}

// Returns the value of largest magnitude with its sign, the first of equals; +0 if all are zero.
inline float signed_largest(const float *x, int n) {
    float most = 0.0f, value = 0.0f;
    for (int i = 0; i < n; i++) {
        if (magnitude(x[i]) > most) {
            most = magnitude(x[i]);
            value = x[i];
        }
    }
    return value;
}

} // namespace
} // namespace rounding
} // namespace ggufx
