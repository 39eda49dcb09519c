// Row operations: the operations between the matrix products of a model, on one f32 row at a time.
// docs/reproducibility/models.md, "Row operations", defines the bits of each; a kernel is free in
// everything else.
// - Vectors have any alignment of float and any n >= 0. Nothing outside is read or written.
// - Input and output may be the same address unless stated otherwise.
// - NaN in a value gives NaN, always with the bits 0x7fc00000. Called under CanonicalFp.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

#include <stddef.h>

namespace ggufx {
namespace kernels {

// Data of consecutive tokens: that of token t is at `at` + t * step.
struct OfTokens {
    const float *at;
    size_t step;
    const float *of(size_t token) const { return at + token * step; }
};

// Consecutive tokens of a gated delta net.
struct DeltaRun {
    size_t tokens;
    OfTokens k, q, v; // [n], [n], [rows]
    OfTokens decay;   // state decay, one number per token
    OfTokens beta;    // write strength of the difference, one number per token
    float scale;      // scale of the output
    float *out;       // [rows] per token, out_step apart; may be v's
    size_t out_step;
};

// One token of Mamba-2, with a decay per head.
struct ScanToken {
    float *out;             // [rows]; may be u's
    const float *b, *c, *u; // [n], [n], [rows]
    float decay, dt;
};
// One token of Mamba-1, with a decay per value.
struct ScanEachToken {
    float *out;                      // [rows]; may be u's or dt's
    const float *a, *b, *c, *u, *dt; // [rows][n], [n], [n], [rows], [rows]
};

struct RowKernels {
    // ---- norms; w[n], b[n] may be null

    // y[n] = x / sqrt(mean of x^2 + eps) * w. n = 0: nothing.
    void (*rms)(float *y, const float *x, const float *w, size_t n, float eps);
    // y[n] = (x - mean) / sqrt(mean of (x - mean)^2 + eps) * w + b.
    void (*layer_norm)(float *y, const float *x, const float *w, const float *b, size_t n,
                       float eps);
    // y[n] = x / max(sqrt(sum of x^2), eps).
    void (*l2)(float *y, const float *x, size_t n, float eps);

    // ---- RoPE rotations in place; cos_sin[pairs][2] does not overlap

    void (*rotate_pairs)(float *x, const float *cos_sin, size_t pairs);  // x[2i], x[2i + 1]
    void (*rotate_halves)(float *x, const float *cos_sin, size_t pairs); // x[i], x[i + pairs]

    // ---- elementwise

    void (*add)(float *y, const float *x, size_t n);                 // y += x
    void (*add_scaled)(float *y, const float *x, float s, size_t n); // y += s * x
    void (*multiply)(float *y, const float *x, size_t n);            // y *= x
    void (*scale)(float *y, float s, size_t n);                      // y *= s
    void (*clamp)(float *y, float limit, size_t n);                  // to [-limit, limit]
    void (*cap)(float *y, float c, size_t n);                        // y = c * tanh(y / c)

    // ---- activations: g[n] = act(g) * u, or act(g) if u is null

    void (*silu)(float *g, const float *u, size_t n);
    void (*gelu)(float *g, const float *u, size_t n); // the tanh approximation
    void (*relu2)(float *g, const float *u, size_t n);
    // gpt-oss: min(g, 7) * sigmoid(1.702 * min(g, 7)) * (clamp(u, -7, 7) + 1); u is not null.
    void (*oai)(float *g, const float *u, size_t n);
    void (*sigmoid)(float *y, const float *g, size_t n); // y *= sigmoid(g)

    // In place. -Inf gives 0. A NaN, a +Inf, or only -Inf values make all of y NaN.
    void (*softmax)(float *y, size_t n);
    // y[n] = exp(x - top): weights of a softmax; the caller computes the sums.
    void (*exp_from)(float *y, const float *x, float top, size_t n);
    // y[(n + 63) / 64]: the maximum of each 64 values, NaN if one of them is; a zero is +0. y must
    // not overlap x.
    void (*maxima)(float *y, const float *x, size_t n);

    // ---- recurrent operations; a state m is [rows][n] with independent rows. `before` is the
    // state before the first token: m itself, or another buffer

    // Causal convolution of each channel: y[c] = b[c] + sum over j of w[j][c] * x[j][c]. The
    // columns x[k] belong to the last k tokens, oldest first; w[k][n], w_step apart, k <= 8. y may
    // be any x[j].
    void (*conv)(float *y, const float *const *x, const float *w, size_t w_step, const float *b,
                 size_t k, size_t n);
    // Per token and row r: m *= decay; d = beta * (v[r] - m . k); m += d * k;
    // out[r] = (m . q) * scale.
    void (*delta)(const DeltaRun &run, float *m, const float *before, size_t rows, size_t n);
    // Per row r: m = m * decay + (u[r] * dt) * b; out[r] = m . c.
    void (*scan)(const ScanToken &token, float *m, const float *before, size_t rows, size_t n);
    // Per row r: m = m * exp(dt[r] * a[r]) + (u[r] * dt[r]) * b; out[r] = m . c.
    void (*scan_each)(const ScanEachToken &token, float *m, const float *before, size_t rows,
                      size_t n);
};

namespace {
constexpr size_t kConvTaps = 8; // largest k of conv

// Returns the row operations of the best layer that has them; scalar does.
inline const RowKernels *rows_of(const Kernels &kernels) {
    for (const Layer *l : kernels.layers) {
        if (l && l->rows) return l->rows;
    }
    return nullptr;
}
} // namespace

} // namespace kernels
} // namespace ggufx
