// Row steps: what stands between the products of a model, on one row of f32 at a time. The bits of
// each are in docs/reproducibility/models.md, "Row operations"; a kernel is free in everything else.
// Vectors have any alignment of float and any n >= 0; nothing outside is read or written. What is
// written may be what is read, from the same address on, unless said otherwise. NaN in a value
// gives NaN, always with the bits 0x7fc00000. Called under CanonicalFp.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

#include <stddef.h>

namespace ggufx {
namespace kernels {

// What tokens have: that of token t begins at at + t * step.
struct OfTokens {
    const float *at;
    size_t step;
    const float *of(size_t token) const { return at + token * step; }
};

// Tokens of a gated delta net, one after another.
struct DeltaRun {
    size_t tokens;
    OfTokens k, q, v; // [n], [n], [rows]
    OfTokens decay;   // of the state, a number
    OfTokens beta;    // how much of the difference is written, a number
    float scale;      // of the output
    float *out;       // [rows] of each token, out_step apart; may be v's
    size_t out_step;
};

struct RowKernels {
    // ---- norms; w[n], b[n] may be null: none

    // y[n] = x / sqrt(mean of x^2 + eps) * w. n = 0: nothing.
    void (*rms)(float *y, const float *x, const float *w, size_t n, float eps);
    // y[n] = (x - mean) / sqrt(mean of (x - mean)^2 + eps) * w + b.
    void (*layer_norm)(float *y, const float *x, const float *w, const float *b, size_t n,
                       float eps);
    // y[n] = x / max(sqrt(sum of x^2), eps).
    void (*l2)(float *y, const float *x, size_t n, float eps);

    // ---- rotations in place; cos_sin[pairs][2] lies elsewhere

    void (*rotate_pairs)(float *x, const float *cos_sin, size_t pairs);  // of x[2i], x[2i + 1]
    void (*rotate_halves)(float *x, const float *cos_sin, size_t pairs); // of x[i], x[i + pairs]

    // ---- value by value

    void (*add)(float *y, const float *x, size_t n);                 // y += x
    void (*add_scaled)(float *y, const float *x, float s, size_t n); // y += s * x
    void (*multiply)(float *y, const float *x, size_t n);            // y *= x
    void (*scale)(float *y, float s, size_t n);                      // y *= s
    void (*clamp)(float *y, float limit, size_t n);                  // to [-limit, limit]
    void (*cap)(float *y, float c, size_t n);                        // y = c * tanh(y / c)

    // ---- activations: g[n] = act(g) * u, with u null act(g)

    void (*silu)(float *g, const float *u, size_t n);
    void (*gelu)(float *g, const float *u, size_t n); // the form with tanh
    void (*relu2)(float *g, const float *u, size_t n);
    // gpt-oss: min(g, 7) * sigmoid(1.702 * min(g, 7)) * (clamp(u, -7, 7) + 1); u is not null.
    void (*oai)(float *g, const float *u, size_t n);
    void (*sigmoid)(float *y, const float *g, size_t n); // y *= sigmoid(g)

    // In place. -Inf gives 0; a NaN, a +Inf, or nothing but -Inf makes all of y NaN.
    void (*softmax)(float *y, size_t n);
    // y[n] = exp(x - top): weights of a softmax whose sums are the caller's.
    void (*exp_from)(float *y, const float *x, float top, size_t n);
    // y[(n + 63) / 64]: the largest of each 64 values, NaN where one of them is; a zero is +0. y is
    // not x.
    void (*maxima)(float *y, const float *x, size_t n);

    // ---- recurrent steps; a state m is [rows][n], its rows are independent. What the first token
    // finds is `before`: m itself, or somewhere else

    // Causal convolution of each channel: y[c] = b[c] + sum over j of w[j][c] * x[j][c], for the
    // columns x[k] of the last k tokens, the oldest first; w[k][n], w_step apart, k <= 8. y may be
    // any x[j].
    void (*conv)(float *y, const float *const *x, const float *w, size_t w_step, const float *b,
                 size_t k, size_t n);
    // Per token and row r: m *= decay; d = beta * (v[r] - m . k); m += d * k;
    // out[r] = (m . q) * scale.
    void (*delta)(const DeltaRun &run, float *m, const float *before, size_t rows, size_t n);
    // Mamba-2, per row r: m = m * decay + (u[r] * dt) * b; out[r] = m . c. b[n], c[n], u[rows]; out
    // may be u and nothing else that is read.
    void (*scan)(float *out, float *m, const float *before, const float *b, const float *c,
                 const float *u, float decay, float dt, size_t rows, size_t n);
    // Mamba-1, where each value decays by itself: m = m * exp(dt[r] * a[r]) + (u[r] * dt[r]) * b;
    // out[r] = m . c. a[rows][n], b[n], c[n], u[rows], dt[rows]; out may be u or dt and nothing
    // else that is read.
    void (*scan_each)(float *out, float *m, const float *before, const float *a, const float *b,
                      const float *c, const float *u, const float *dt, size_t rows, size_t n);
};

namespace {
constexpr size_t kConvTaps = 8; // most k of conv

// The row steps of the best layer that has them; scalar does.
inline const RowKernels *rows_of(const Kernels &kernels) {
    for (const Layer *l : kernels.layers) {
        if (l && l->rows) return l->rows;
    }
    return nullptr;
}
} // namespace

} // namespace kernels
} // namespace ggufx
