// Recurrent operations, one value at a time: sums have 16 lanes, lane = index mod 16.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/rows.hpp"
#include "kernels/scalar/canonical.hpp"

#include "base/math.hpp"

namespace ggufx::kernels::scalar {
namespace {

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
} // namespace ggufx::kernels::scalar
