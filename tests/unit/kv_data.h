/*
 * Keys, values and queries of a test, and buffers for the results.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_DATA_H
#define KV_DATA_H

#include "kv_fixture.h"

typedef struct data {
    ggufx_kv_options shape;
    size_t n, n_queries, n_out;
    float *k, *v, *q, *out, *lse;
} data;

static inline data make_data(ggufx_kv_options shape, size_t n, size_t n_queries, uint32_t seed) {
    data d = {.shape = shape, .n = n, .n_queries = n_queries};
    d.k = kv_random(n * shape.n_kv_heads * shape.head_dim_k, seed);
    d.v = kv_random(n * shape.n_kv_heads * shape.head_dim_v, seed + 1);
    d.q = kv_random(n_queries * shape.n_q_heads * shape.head_dim_k, seed + 2);
    d.n_out = n_queries * shape.n_q_heads * shape.head_dim_v;
    d.out = calloc(d.n_out, sizeof *d.out);
    d.lse = calloc(n_queries * shape.n_q_heads, sizeof *d.lse);
    assert_true(d.out && d.lse);
    return d;
}

static inline void free_data(data *d) {
    free(d->k);
    free(d->v);
    free(d->q);
    free(d->out);
    free(d->lse);
}

#endif
