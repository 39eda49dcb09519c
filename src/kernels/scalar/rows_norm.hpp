// Norms and softmax, one value at a time: sums have 64 lanes, lane = index mod 64.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/math.hpp"

#include <math.h>
#include <stddef.h>

namespace ggufx::kernels::scalar {
namespace {

constexpr size_t kRowLanes = 64;

// Adds lanes j and j + 32, then those 16, 8, 4, 2, 1 apart.
inline float sum_lanes(float *l, size_t n_lanes) {
    for (size_t half = n_lanes / 2; half != 0; half /= 2) {
        for (size_t j = 0; j < half; j++) l[j] = l[j] + l[j + half];
    }
    return l[0];
}

inline float sum(const float *x, size_t n) {
    float lanes[kRowLanes] = {};
    for (size_t i = 0; i < n; i++) lanes[i % kRowLanes] += x[i];
    return sum_lanes(lanes, kRowLanes);
}

// Returns the sum of (x - centre)^2.
inline float sum_of_squares(const float *x, float centre, size_t n) {
    float lanes[kRowLanes] = {};
    for (size_t i = 0; i < n; i++) {
        const float d = x[i] - centre;
        lanes[i % kRowLanes] = fmaf(d, d, lanes[i % kRowLanes]);
    }
    return sum_lanes(lanes, kRowLanes);
}

inline float inverse_root(float sum, size_t n, float eps) {
    return 1.0f / __builtin_sqrtf(sum / static_cast<float>(n) + eps);
}

inline void rms(float *y, const float *x, const float *w, size_t n, float eps) {
    const float scale = inverse_root(sum_of_squares(x, 0.0f, n), n, eps);
    for (size_t i = 0; i < n; i++) {
        const float v = x[i] * scale;
        y[i] = canonical_nan(w ? v * w[i] : v);
    }
}

inline void layer_norm(float *y, const float *x, const float *w, const float *b, size_t n,
                       float eps) {
    const float mean = sum(x, n) / static_cast<float>(n);
    const float scale = inverse_root(sum_of_squares(x, mean, n), n, eps);
    for (size_t i = 0; i < n; i++) {
        float v = (x[i] - mean) * scale;
        if (w) v = v * w[i];
        if (b) v = v + b[i];
        y[i] = canonical_nan(v);
    }
}

inline void l2(float *y, const float *x, size_t n, float eps) {
    const float length = __builtin_sqrtf(sum_of_squares(x, 0.0f, n));
    const float scale = 1.0f / (length < eps ? eps : length);
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(x[i] * scale);
}

inline void softmax(float *y, size_t n) {
    float largest = -__builtin_inff();
    for (size_t i = 0; i < n; i++) largest = y[i] > largest ? y[i] : largest;
    for (size_t i = 0; i < n; i++) y[i] = exp_f32(y[i] - largest);
    const float total = sum(y, n);
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(y[i] / total);
}

inline void exp_from(float *y, const float *x, float top, size_t n) {
    for (size_t i = 0; i < n; i++) y[i] = canonical_nan(exp_f32(x[i] - top));
}

inline void maxima(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i += kRowLanes) {
        float most = x[i];
        for (size_t j = i; j < n && j < i + kRowLanes; j++)
            most = x[j] > most || x[j] != x[j] ? x[j] : most; // NaN stays: nothing is greater
        y[i / kRowLanes] = canonical_nan(most + 0.0f);        // a zero becomes +0
    }
}

} // namespace
} // namespace ggufx::kernels::scalar
