// Row operations, one value at a time: reference definitions of docs/reproducibility/models.md.
// SPDX-License-Identifier: MIT
#include "kernels/rows.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/scalar/canonical.hpp"

#include "base/math.hpp"

#include <math.h>
#include <stddef.h>

namespace ggufx::kernels {
namespace scalar {
namespace {

// ---- norms and softmax: sums have 64 lanes, lane = index mod 64 ---------------------------------

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

// ---- RoPE rotations, sums and products of rows, activation functions ----------------------------

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

// ---- recurrent operations: sums have 16 lanes, lane = index mod 16 ------------------------------

inline void conv(float *y, const float *const *x, const float *w, size_t w_step, const float *b,
                 size_t k, size_t n) {
    for (size_t c = 0; c < n; c++) {
        float sum = b ? b[c] : 0.0f;
        for (size_t j = 0; j < k; j++)
            sum = j == 0 && !b ? w[c] * x[0][c] : fmaf(w[j * w_step + c], x[j][c], sum);
        y[c] = canonical_nan(sum);
    }
}

// Never -0, so that adding zeros after the end of a vector cannot change the result.
inline float dot(const float *a, const float *b, size_t n) {
    float lanes[kLanes] = {};
    for (size_t i = 0; i < n; i++) lanes[i % kLanes] = fmaf(a[i], b[i], lanes[i % kLanes]);
    return tree(lanes) + 0.0f;
}

inline void delta(const DeltaRun &run, float *m, const float *before, size_t rows, size_t n) {
    for (size_t t = 0; t < run.tokens; t++, before = m) {
        const float *k = run.k.of(t), *q = run.q.of(t), *v = run.v.of(t);
        const float decay = *run.decay.of(t), beta = *run.beta.of(t);
        float *out = run.out + t * run.out_step, *row = m;
        for (size_t r = 0; r < rows; r++, row += n) {
            for (size_t i = 0; i < n; i++) row[i] = before[r * n + i] * decay;
            const float d = beta * (v[r] - dot(row, k, n));
            for (size_t i = 0; i < n; i++) row[i] = canonical_nan(fmaf(d, k[i], row[i]));
            out[r] = canonical_nan(dot(row, q, n) * run.scale);
        }
    }
}

inline void scan(const ScanToken &s, float *m, const float *before, size_t rows, size_t n) {
    for (size_t r = 0; r < rows; r++, m += n, before += n) {
        const float t = s.u[r] * s.dt;
        for (size_t i = 0; i < n; i++) m[i] = canonical_nan(fmaf(t, s.b[i], before[i] * s.decay));
        s.out[r] = canonical_nan(dot(m, s.c, n));
    }
}

inline void scan_each(const ScanEachToken &s, float *m, const float *before, size_t rows,
                      size_t n) {
    const float *a = s.a;
    for (size_t r = 0; r < rows; r++, m += n, before += n, a += n) {
        const float dt = s.dt[r], t = s.u[r] * dt;
        for (size_t i = 0; i < n; i++)
            m[i] = canonical_nan(fmaf(t, s.b[i], before[i] * exp_f32(dt * a[i])));
        s.out[r] = canonical_nan(dot(m, s.c, n));
    }
}

} // namespace
} // namespace scalar

constexpr RowKernels scalar::kRows = {
    .rms = scalar::rms,
    .layer_norm = scalar::layer_norm,
    .l2 = scalar::l2,
    .rotate_pairs = scalar::rotate_pairs,
    .rotate_halves = scalar::rotate_halves,
    .add = scalar::add,
    .add_scaled = scalar::add_scaled,
    .multiply = scalar::multiply,
    .scale = scalar::scale_row,
    .clamp = scalar::clamp,
    .cap = scalar::cap,
    .silu = scalar::activate<scalar::silu_of>,
    .gelu = scalar::activate<scalar::gelu_of>,
    .relu2 = scalar::activate<scalar::relu2_of>,
    .oai = scalar::oai,
    .sigmoid = scalar::sigmoid,
    .softmax = scalar::softmax,
    .exp_from = scalar::exp_from,
    .maxima = scalar::maxima,
    .conv = scalar::conv,
    .delta = scalar::delta,
    .scan = scalar::scan,
    .scan_each = scalar::scan_each,
};

} // namespace ggufx::kernels
