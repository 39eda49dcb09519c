/*
 * Cost of a cache with many sequences in one call.
 * SPDX-License-Identifier: MIT
 */
#include "cost.h"
#include "kv_calls.h"
#include "ok.h"

#include <ggufx/kv.h>
#include <stdlib.h>

enum { kDim = 2 };

typedef struct batch {
    size_t n;
    ggufx_kv *kv;
    uint32_t *sequences;
    int32_t *positions;
    float *values;
} batch;

/* A token of each of n sequences, in no order; each of them already has one. */
static void *with_sequences(size_t n) {
    batch *b = calloc(1, sizeof *b);
    ggufx_kv_options options = {.struct_size = sizeof options};
    options.n_layers = options.n_kv_heads = options.n_q_heads = 1;
    options.head_dim_k = options.head_dim_v = kDim;
    options.type_k = options.type_v = GGUFX_TYPE_F16;
    options.n_sequences = (uint32_t)n;
    b->n = n;
    b->sequences = malloc(n * sizeof *b->sequences);
    b->positions = calloc(n, sizeof *b->positions);
    b->values = calloc(n, kDim * sizeof *b->values);
    assert_true(b->sequences && b->positions && b->values);
    for (size_t i = 0; i < n; i++) b->sequences[i] = (uint32_t)((i * 2654435761u) % n);
    OK(ggufx_kv_create(&b->kv, rt, &options, ok_error()));
    OK(kv_append_batch(b->kv, 0, n, b->sequences, b->positions, b->values, n * kDim, b->values,
                       n * kDim, ok_error()));
    return b;
}

static void append(void *work) {
    batch *b = work;
    OK(kv_append_batch(b->kv, 0, b->n, b->sequences, b->positions, b->values, b->n * kDim,
                       b->values, b->n * kDim, ok_error()));
}

static void finish(void *work) {
    batch *b = work;
    ggufx_kv_destroy(b->kv);
    free(b->sequences);
    free(b->positions);
    free(b->values);
    free(b);
}

/* A sequence of n tokens. */
static void *sequence_of(size_t n) {
    batch *b = calloc(1, sizeof *b);
    ggufx_kv_options options = {.struct_size = sizeof options};
    options.n_layers = options.n_kv_heads = options.n_q_heads = 1;
    options.head_dim_k = options.head_dim_v = kDim;
    options.type_k = options.type_v = GGUFX_TYPE_F16;
    options.rope_style = GGUFX_ROPE_NEOX;
    b->n = n;
    b->values = calloc(n, kDim * sizeof *b->values);
    assert_non_null(b->values);
    OK(ggufx_kv_create(&b->kv, rt, &options, ok_error()));
    OK(kv_append_rows(b->kv, 0, 0, n, NULL, b->values, n * kDim, b->values, n * kDim, ok_error()));
    return b;
}

/* Each token is moved by one, from the last to the first, and back in the other order. */
static void shift_each(void *work) {
    batch *b = work;
    for (size_t i = b->n; i-- > 0;) OK(ggufx_kv_shift(b->kv, 0, i, 1, 1, ok_error()));
    for (size_t i = 0; i < b->n; i++) OK(ggufx_kv_shift(b->kv, 0, i, 1, -1, ok_error()));
}

int main(void) {
    /* a power of two: the multiplier is odd, so every sequence occurs once */
    static const cost_case cases[] = {
        {"append_batch of many sequences", 2048, with_sequences, append, finish, 4096},
        {"shifts of one token each", 8192, sequence_of, shift_each, finish, 64},
    };
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
