/*
 * Cost of quantization at 1 x and 4 x the size: one long row with an imatrix, whose sum every block
 * needs, and many rows; moments of many inputs, rows with feedback.
 * SPDX-License-Identifier: MIT
 */
#include "cost.h"
#include "ok.h"
#include "weight_calls.h"

#include <stdlib.h>

enum { kCols = 256 };

typedef struct job {
    ggufx_runtime *rt; /* with threads, so that the work is split into tasks */
    float *x, *imatrix;
    uint8_t *out;
    size_t n_rows, n_cols;
} job;

static job *rows_of(size_t n_rows, size_t n_cols) {
    job *j = calloc(1, sizeof *j);
    const size_t n = n_rows * n_cols;
    ggufx_runtime_options options = {.struct_size = sizeof options};
    options.threads = 2;
    OK(ggufx_runtime_create(&j->rt, &options, ok_error()));
    *j = (job){.rt = j->rt,
               .x = malloc(n * sizeof *j->x),
               .imatrix = malloc(n_cols * sizeof *j->x),
               .out = calloc(n, 1),
               .n_rows = n_rows,
               .n_cols = n_cols};
    for (size_t i = 0; i < n; i++) j->x[i] = (float)(scrambled(i) % 2000) * 0.001f - 1.0f;
    for (size_t i = 0; i < n_cols; i++) j->imatrix[i] = 1.0f + (float)(i % 5);
    return j;
}

static void *one_row(size_t n) {
    return rows_of(1, n);
}
static void *many_rows(size_t n) {
    return rows_of(n / kCols, kCols);
}

static void quantize(void *work) {
    const job *j = work;
    ggufx_quantize_args options = {.struct_size = sizeof options};
    options.imatrix = j->imatrix;
    OK(quantize_rows(j->out, j->n_rows * j->n_cols, j->rt, 2 /* Q4_0 */, j->x, j->n_rows, j->n_cols,
                     &options, ok_error()));
}

static void destroy(void *work) {
    job *j = work;
    ggufx_runtime_destroy(j->rt);
    free(j->x);
    free(j->imatrix);
    free(j->out);
    free(j);
}

/* n values: inputs of kNarrow columns, or rows that are quantized with feedback. */
enum { kNarrow = 32, kLeastInputs = 4 * kNarrow };

static void *narrow_rows(size_t n) {
    return rows_of(n / kNarrow, kNarrow);
}

static ggufx_moments *moments_of(const job *j, size_t n) {
    ggufx_moments *moments = NULL;
    const ggufx_moments_inputs inputs = {
        .struct_size = sizeof inputs, .n = n, .n_columns = kNarrow, .rows = j->x};
    OK(ggufx_moments_create(&moments, j->rt, kNarrow, 0, ok_error()));
    OK(ggufx_moments_add(moments, &inputs, ok_error()));
    return moments;
}

static void sum_moments(void *work) {
    const job *j = work;
    ggufx_moments_destroy(moments_of(j, j->n_rows));
}

static void quantize_with_feedback(void *work) {
    const job *j = work;
    ggufx_moments *moments = moments_of(j, kLeastInputs);
    ggufx_feedback_facts facts = {.struct_size = sizeof facts};
    const ggufx_feedback_args args = {.struct_size = sizeof args,
                                      .type = GGUFX_TYPE_Q4_0,
                                      .n_rows = j->n_rows,
                                      .n_cols = kNarrow,
                                      .rows = j->x,
                                      .moments = moments};
    OK(ggufx_quantize_feedback(j->out, j->n_rows * kNarrow, j->rt, &args, &facts, ok_error()));
    ggufx_moments_destroy(moments);
}

int main(void) {
    static const cost_case cases[] = {
        {"one row with an imatrix", 1 << 22, one_row, quantize, destroy, 5},
        {"many rows with an imatrix", 1 << 22, many_rows, quantize, destroy, 5},
        {"moments of many inputs", 1 << 21, narrow_rows, sum_moments, destroy, 5},
        {"many rows with feedback", 1 << 15, narrow_rows, quantize_with_feedback, destroy, 5},
    };
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
