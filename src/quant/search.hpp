// The scale searches shared by the block types: n values x, weights w, codes out.
// Each returns the scale; sums run in the order of the values, products left to right.
// Source: format notes section 4.1 (QX, Q3Q, QKX2, QKX3, QP).
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::quant {

constexpr int kMaxGroup = 32; // values of one search

// Codes 0 .. 2*n_max-1 stand for -n_max .. n_max-1 ("QX"). w null: weights x^2.
// All zero: codes 0, scale 0.
float fit_signed(int n, int n_max, const float *x, uint8_t *codes, const float *w);

// The same by coordinate descent, weights x^2 ("Q3Q").
float fit_descent(int n, int n_max, const float *x, uint8_t *codes);

// Codes 0 .. n_max >= 0 ("QP"); scale and minimum of sub-blocks are fitted with it.
float fit_positive(int n, int n_max, const float *x, uint8_t *codes, const float *w);

// value = scale * code - *min, min >= 0 ("QKX2", "QKX3").
struct MinSearch {
    int n, n_max;
    float first, step; // of the candidates n_max + first + i * step
    int n_steps;
    bool absolute; // error: sum of w * |difference| instead of its square
    bool weighted; // "QKX3": with an imatrix; a group without spread has max <= min
};
float fit_with_min(const MinSearch &search, const float *x, const float *w, uint8_t *codes,
                   float *min);

} // namespace ggufx::quant
