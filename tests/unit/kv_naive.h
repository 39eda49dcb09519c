/*
 * Attention in double precision over the values of ggufx_kv_read, for every type of stream and
 * every option.
 * SPDX-License-Identifier: MIT
 */
#ifndef KV_NAIVE_H
#define KV_NAIVE_H

#include "../tolerances.h"
#include "kv_fixture.h"
#include "kv_types.h"

#include <math.h>
#include <stdio.h>

enum { kTokens = 64 * 17 + 23 }; /* three chunks of pages */

typedef struct mask {
    uint32_t flags, window;
    double softcap;
    const float *slopes, *sinks; /* per query head, or NULL */
    uint32_t kind;               /* kind of window */
} mask;

typedef struct naive {
    const ggufx_kv_options *shape;
    const float *k, *v; /* as read back */
    const mask *mask;
} naive;

static inline double score_of(const naive *a, const float *q, size_t head, size_t token,
                              int32_t at) {
    const ggufx_kv_options *s = a->shape;
    const size_t kv_head = head / (s->n_q_heads / s->n_kv_heads), d = s->head_dim_k;
    const float *k = a->k + (token * s->n_kv_heads + kv_head) * d;
    double sum = 0;
    for (size_t i = 0; i < d; i++) sum += (double)q[i] * (double)k[i];
    sum /= sqrt((double)d);
    if (a->mask->softcap > 0) sum = a->mask->softcap * tanh(sum / a->mask->softcap);
    if (a->mask->slopes) sum += (double)a->mask->slopes[head] * ((double)token - at);
    return sum;
}

static inline int sees(const mask *m, int32_t at, size_t token) {
    if (m->flags & GGUFX_ATTEND_ALL) return 1;
    const int64_t i = at, j = (int64_t)token, w = m->window;
    if (m->kind == GGUFX_KV_WINDOW_SYMMETRIC) return llabs(i - j) <= w / 2;
    if (j > i) return 0;
    if (m->kind == GGUFX_KV_WINDOW_CHUNKED) return j >= w * (i / w);
    return w == 0 || i - j < w;
}

/* Computes one row in doubles; the position of token t is t. */
static inline void attend_naive(const naive *a, const float *q, size_t head, int32_t at,
                                double *out, double *lse) {
    const ggufx_kv_options *s = a->shape;
    const size_t kv_head = head / (s->n_q_heads / s->n_kv_heads), d = s->head_dim_v;
    double score[kTokens], most = -INFINITY, l = 0;
    for (size_t t = 0; t < kTokens; t++) {
        score[t] = sees(a->mask, at, t) ? score_of(a, q, head, t, at) : -INFINITY;
        most = fmax(most, score[t]);
    }
    if (a->mask->sinks) most = fmax(most, (double)a->mask->sinks[head]);
    if (a->mask->sinks) l = exp((double)a->mask->sinks[head] - most);
    for (size_t j = 0; j < d; j++) out[j] = 0;
    for (size_t t = 0; t < kTokens; t++) {
        const double p = exp(score[t] - most);
        const float *v = a->v + (t * s->n_kv_heads + kv_head) * d;
        l += p;
        for (size_t j = 0; p > 0 && j < d; j++) out[j] += p * (double)v[j];
    }
    for (size_t j = 0; j < d; j++) out[j] /= l;
    *lse = most + log(l);
}

static inline double tolerance_of(const ggufx_kv_options *shape) {
    ggufx_type_facts k = {.struct_size = sizeof k}, v = k;
    assert_int_equal(ggufx_type_info(&k, shape->type_k, NULL), GGUFX_OK);
    assert_int_equal(ggufx_type_info(&v, shape->type_v, NULL), GGUFX_OK);
    const int wide = shape->type_k == GGUFX_TYPE_Q8_0 || shape->type_k == GGUFX_TYPE_IQ4_NL ||
                     shape->type_k == GGUFX_TYPE_ROT_IQ4_NL;
    if (k.flags & GGUFX_TYPE_IS_QUANTIZED) return wide ? TOL_KV_QUERY_15 : TOL_KV_QUERY_7;
    return v.flags & GGUFX_TYPE_IS_QUANTIZED ? TOL_KV_WEIGHT_15 : TOL_KV_FLOAT;
}

/* Checks the error of a row relative to the length of a typical value, and the error of its lse. */
static inline void check_row(const naive *a, const float *q, size_t head, int32_t at,
                             const float *out, float lse) {
    const size_t d = a->shape->head_dim_v;
    double want[1024], want_lse, error = 0, size = 0;
    attend_naive(a, q, head, at, want, &want_lse);
    for (size_t j = 0; j < d; j++) {
        error += ((double)out[j] - want[j]) * ((double)out[j] - want[j]);
        size += (double)a->v[j] * (double)a->v[j]; /* length of the first value */
    }
    const double tolerance = tolerance_of(a->shape);
    const int ok =
        sqrt(error) <= tolerance * sqrt(size) && fabs((double)lse - want_lse) <= 2 * tolerance;
    if (!ok)
        fail_msg("types %u and %u, %u of %u and %u, head %zu at %d: error %g of %g, lse %g not %g",
                 a->shape->type_k, a->shape->type_v, a->shape->n_q_heads, a->shape->head_dim_k,
                 a->shape->head_dim_v, head, at, sqrt(error), sqrt(size), (double)lse, want_lse);
}

typedef struct filled {
    ggufx_kv *kv;
    float *k, *v; /* read back */
} filled;

static inline filled fill(const ggufx_runtime *rt, const ggufx_kv_options *shape) {
    const size_t nk = (size_t)kTokens * shape->n_kv_heads * shape->head_dim_k;
    const size_t nv = (size_t)kTokens * shape->n_kv_heads * shape->head_dim_v;
    filled f = {kv_make(rt, shape), kv_random(nk, 5), kv_random(nv, 6)};
    for (size_t i = 0; i < nk; i++) f.k[i] = f.k[i] * 2.0f + (i % 7 == 0 ? 0.5f : 0.0f);
    kv_fill(f.kv, shape, 0, kTokens, 100, NULL, f.k, f.v);
    assert_int_equal(kv_read_rows(f.k, nk, f.v, nv, f.kv, 0, 0, 0, kTokens, NULL), GGUFX_OK);
    return f;
}

static inline void release(filled *f) {
    ggufx_kv_destroy(f->kv);
    free(f->k);
    free(f->v);
}

static inline void check_attend(const filled *f, const ggufx_kv_options *shape, size_t n_queries,
                                const mask *m) {
    const size_t rows = n_queries * shape->n_q_heads, nq = rows * shape->head_dim_k;
    const size_t n_out = rows * shape->head_dim_v;
    float *q = kv_random(nq, (uint32_t)n_queries), *out = calloc(n_out, sizeof *out);
    float *lse = calloc(rows, sizeof *lse);
    int32_t *at = calloc(n_queries, sizeof *at);
    assert_true(q && out && lse && at);
    for (size_t i = 0; i < n_queries; i++) /* the last token, then tokens over the whole sequence */
        at[i] = i == 0 ? kTokens - 1 : (int32_t)(i * 131 % kTokens);
    ggufx_attend_options options = {.struct_size = sizeof options};
    options.flags = m->flags;
    options.window = m->window;
    options.window_kind = m->kind;
    options.softcap = (float)m->softcap;
    options.alibi_slopes = m->slopes;
    options.n_alibi_slopes = m->slopes ? shape->n_q_heads : 0;
    options.sink_logits = m->sinks;
    options.n_sink_logits = m->sinks ? shape->n_q_heads : 0;
    ggufx_error error;
    if (kv_attend_rows(out, n_out, lse, lse ? rows : 0, f->kv, 0, 0, q, nq, n_queries, at, &options,
                       &error))
        fail_msg("%s", error.message);
    const naive a = {shape, f->k, f->v, m};
    for (size_t r = 0; r<rows; r += n_queries> 3 ? 5 : 1) /* every remainder of rows */
        check_row(&a, q + r * shape->head_dim_k, r % shape->n_q_heads, at[r / shape->n_q_heads],
                  out + r * shape->head_dim_v, lse[r]);
    free(q);
    free(out);
    free(lse);
    free(at);
}

static const mask kPlain = {0, 0, 0, NULL, NULL, 0};

/* Asserts that a hash of attention over type t (kTypes) is the same on any instruction set, number of
 * threads and queries at once. */
static inline void check_split(uint64_t (*hash)(const ggufx_runtime *rt, size_t t, size_t n,
                                                size_t at_once)) {
    ggufx_runtime *one = kv_runtime(NULL, 1, NULL), *four = kv_runtime(NULL, 4, NULL);
    ggufx_runtime *scalar = kv_scalar_runtime();
    for (size_t t = 0; t < kTypeCount; t++) {
        const uint64_t want = hash(one, t, 7, 7);
        assert_true(hash(one, t, 7, 1) == want);
        assert_true(hash(four, t, 7, 2) == want);
        assert_true(hash(four, t, 7, 7) == want);
        assert_true(hash(scalar, t, 7, 3) == want);
    }
    ggufx_runtime_destroy(one);
    ggufx_runtime_destroy(four);
    ggufx_runtime_destroy(scalar);
}

#endif
