// The conversions and roundings that decide codes, the same on every host: C leaves values outside
// of the integer's range undefined, and libm's rounding calls differ in speed.
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

// Below this a group counts as zero.
constexpr float kTiny = 1e-15f;

// Nearest even for |v| <= 4194303; outside of it (and for NaN) a value in -2^22 .. 2^22-1 that
// follows from the bits alone.
inline int nearest(float v) {
    const uint32_t bits = f32_bits(v + 12582912.0f); // 1.5 * 2^23
    return static_cast<int>(bits & 0x007fffffu) - 0x00400000;
}

// Towards zero; INT32_MIN for NaN and beyond 32 bits, as x86 does it.
inline int32_t to_int(float v) {
    return v >= -2147483648.0f && v < 2147483648.0f ? static_cast<int32_t>(v) : INT32_MIN;
}

// Half away from zero, else as to_int().
inline int32_t round_away(float v) {
    if (!(v > -8388608.0f && v < 8388608.0f)) return to_int(v); // whole already
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

// The field of a scale and what a decoder reads back. NaN (from sums beyond f32) has one sign.
inline float store_f16(uint8_t *p, float v) {
    const uint16_t bits = v == v ? f32_to_f16(v) : uint16_t{0xfe00};
    store_u16le(p, bits);
    return f16_to_f32(bits);
}

// x[0]^2 + x[1]^2 + ... in that order.
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

// The value of largest magnitude with its sign, the first of equals; +0 when all are zero.
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
