/*
 * A stack of experts and a call of ggufx_matmul_id on it.
 * SPDX-License-Identifier: MIT
 */
#ifndef MIXTURE_H
#define MIXTURE_H

#include "matmul_fixture.h"
#include "weight_calls.h"

#include <stdlib.h>
#include <string.h>

/* A stack of experts and a call on n columns with n_used experts each. */
typedef struct mixture {
    size_t n_experts, rows, cols, n, n_used, ldx, ldy;
    matrix m; /* the rows of all experts */
    ggufx_tensor *w;
    uint32_t *ids;
    float *x, *y;
} mixture;

static inline size_t x_length(const mixture *t) {
    return (t->n - 1) * t->ldx + t->cols;
}
static inline size_t y_length(const mixture *t) {
    return (t->n * t->n_used - 1) * t->ldy + t->rows;
}

static inline void make_mixture(mixture *t, const ggufx_runtime *rt, uint32_t type) {
    const uint64_t ne[3] = {t->cols, t->rows, t->n_experts};
    uint64_t random = 9;
    t->m = random_matrix(type, t->rows * t->n_experts, t->cols, 0);
    assert_int_equal(
        tensor_of(&t->w, rt, type, 3, ne, 0, t->m.data, t->m.n_bytes, "e", NULL, NULL, NULL),
        GGUFX_OK);
    t->ldx = t->cols + 5;
    t->ldy = t->rows + 3;
    t->x = random_values(x_length(t), 7);
    t->y = malloc(y_length(t) * sizeof(float));
    t->ids = malloc(t->n * t->n_used * sizeof *t->ids);
    /* Uneven: low numbers are frequent, so that groups of all sizes occur. */
    for (size_t i = 0; i < t->n * t->n_used; i++) {
        const uint32_t r = next_random(&random) % 256;
        t->ids[i] = (uint32_t)(r * r * t->n_experts >> 16);
    }
    for (size_t i = 0; i < y_length(t); i++) t->y[i] = -7.0f;
}

static inline void free_mixture(mixture *t) {
    ggufx_tensor_destroy(t->w);
    free_matrix(&t->m);
    free(t->ids);
    free(t->x);
    free(t->y);
}

static inline ggufx_status run_mixture(const mixture *t, const ggufx_runtime *rt, uint32_t flags,
                                       polls *p, ggufx_error *e) {
    ggufx_progress progress;
    const ggufx_matmul_options options = options_with(flags, &progress, p);
    return matmul_id(t->y, t->ldy, y_length(t), rt, t->w, t->ids, t->n_used, t->x, t->ldx,
                     x_length(t), t->n, &options, e);
}

#endif
