// RoPE rotations, sums and products of rows, activation functions: one value at a time.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/math.hpp"

#include <stddef.h>

namespace ggufx::kernels::scalar {
namespace {

inline void rotate(float &a, float &b, const float *cos_sin) {
    const float c = cos_sin[0], s = cos_sin[1], x = a, y = b;
    a = canonical_nan(x * c - y * s);
    b = canonical_nan(x * s + y * c);
}
inline void rotate_pairs(float *x, const float *cos_sin, size_t pairs) {
    for (size_t i = 0; i < pairs; i++) rotate(x[2 * i], x[2 * i + 1], cos_sin + 2 * i);
}
inline void rotate_halves(float *x, const float *cos_sin, size_t pairs) {
    for (size_t i = 0; i < pairs; i++) rotate(x[i], x[i + pairs], cos_sin + 2 * i);
}

inline void add(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(y[i] + x[i]);
}
inline void add_scaled(float *y, const float *x, float s, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(y[i] + s * x[i]);
}
inline void multiply(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(y[i] * x[i]);
}
inline void scale_row(float *y, float s, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(y[i] * s);
}

inline float at_most(float x, float limit) {
    return x > limit ? limit : x;
}
inline float at_least(float x, float limit) {
    return x < limit ? limit : x;
}
inline void clamp(float *y, float limit, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(at_least(at_most(y[i], limit), -limit));
}

inline float tanh_f32(float x) {
    const float t = exp_f32(-2.0f * __builtin_fabsf(x));
    return __builtin_copysignf((1.0f - t) / (1.0f + t), x);
}
inline void cap(float *y, float c, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(c * tanh_f32(y[i] / c));
}

// x * sigmoid(z).
inline float times_sigmoid(float x, float z) {
    return x / (1.0f + exp_f32(-z));
}
inline float silu_of(float g) {
    return times_sigmoid(g, g);
}
// (1 + tanh(z)) / 2 = sigmoid(2 z), with z = sqrt(2 / pi) * (g + 0.044715 * g^3).
inline float gelu_of(float g) {
    return times_sigmoid(g, g * __builtin_fmaf(g * g, 0.0713548163f, 1.59576912f));
}
inline float relu2_of(float g) {
    const float r = at_least(g, 0.0f);
    return r * r;
}
template <float (*Act)(float)> void activate(float *g, const float *u, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float a = Act(g[i]);
        g[i] = canonical_nan(u ? a * u[i] : a);
    }
}

inline void oai(float *g, const float *u, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const float gate = at_most(g[i], 7.0f);
        const float up = at_least(at_most(u[i], 7.0f), -7.0f);
        g[i] = canonical_nan(times_sigmoid(gate, 1.702f * gate) * (up + 1.0f));
    }
}
inline void sigmoid(float *y, const float *g, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(times_sigmoid(y[i], g[i]));
}

} // namespace
} // namespace ggufx::kernels::scalar
