/*
 * Shared by the tests of quantization with feedback: correlated inputs, rows, a double-precision
 * reference of the errors.
 * SPDX-License-Identifier: MIT
 */
#ifndef GGUFX_TESTS_FEEDBACK_FIXTURE_H
#define GGUFX_TESTS_FEEDBACK_FIXTURE_H

#include "matmul_fixture.h"
#include "ok.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    kColumns = 256,
    kRows = 19,
    kInputs = 4200,
    kKept = 1100,
    kMostBytes = kRows * kColumns * 2
};

/* n inputs whose columns are sums of a few common factors and of some noise. */
static inline float *correlated_inputs(size_t n, uint64_t seed) {
    enum { kFactors = 24 };
    float *mix = random_values((size_t)kFactors * kColumns, 5);
    float *factors = random_values(n * kFactors, seed),
          *noise = random_values(n * kColumns, seed + 1);
    float *x = malloc(n * kColumns * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < kColumns; k++) {
            float sum = 0.25f * noise[i * kColumns + k];
            for (size_t f = 0; f < kFactors; f++)
                sum += factors[i * kFactors + f] * mix[f * kColumns + k];
            x[i * kColumns + k] = sum;
        }
    free(mix);
    free(factors);
    free(noise);
    return x;
}

static inline void add_inputs(ggufx_moments *m, const float *y, const float *x, size_t n) {
    const ggufx_moments_inputs in = {
        .struct_size = sizeof in, .n = n, .n_columns = kColumns, .rows = y, .source_rows = x};
    OK(ggufx_moments_add(m, &in, ok_error()));
}

/* Moments of n inputs y, and with x of x - y. */
static inline ggufx_moments *moments_of(const ggufx_runtime *rt, const float *y, const float *x,
                                        size_t n) {
    ggufx_moments *m = NULL;
    OK(ggufx_moments_create(&m, rt, kColumns, x ? GGUFX_MOMENTS_DRIFT : 0, ok_error()));
    add_inputs(m, y, x, n);
    return m;
}

static inline ggufx_feedback_args feedback_args(uint32_t type, const float *rows,
                                                const ggufx_moments *moments) {
    const ggufx_feedback_args args = {.struct_size = sizeof args,
                                      .type = type,
                                      .n_rows = kRows,
                                      .n_cols = kColumns,
                                      .rows = rows,
                                      .moments = moments};
    return args;
}

static inline size_t bytes_of(uint32_t type) {
    uint64_t row_bytes = 0;
    OK(ggufx_type_row_bytes(&row_bytes, type, kColumns, ok_error()));
    return (size_t)row_bytes * kRows;
}

/* Returns the mean over the inputs of (rows x - values y)^2, summed over the rows. values may be
 * NULL. */
static inline double output_error(const float *rows, const float *x, const float *values,
                                  const float *y, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t r = 0; r < kRows; r++) {
            double out = 0;
            for (size_t k = 0; k < kColumns; k++) {
                out += (double)rows[r * kColumns + k] * x[i * kColumns + k];
                if (values) out -= (double)values[r * kColumns + k] * y[i * kColumns + k];
            }
            sum += out * out;
        }
    return sum / (double)n;
}

#endif
