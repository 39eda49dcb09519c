/*
 * Attention on encoded pages against plain attention in double precision over what ggufx_kv_read
 * gives: every type of stream, shapes, numbers of queries, and every option.
 * SPDX-License-Identifier: MIT
 */
#include "../tolerances.h"
#include "kv_fixture.h"

#include <math.h>
#include <stdio.h>

enum { kTokens = 64 * 17 + 23 }; /* three chunks of pages */

static const uint32_t kTypes[] = {
    GGUFX_KV_F32,      GGUFX_KV_F16,
    GGUFX_KV_BF16,     GGUFX_KV_Q8_0,
    GGUFX_KV_Q5_1,     GGUFX_KV_Q5_0,
    GGUFX_KV_Q4_1,     GGUFX_KV_Q4_0,
    GGUFX_KV_IQ4_NL,   GGUFX_KV_ROT_Q5_0,
    GGUFX_KV_ROT_Q4_0, GGUFX_KV_ROT_IQ4_NL,
    GGUFX_KV_TQ3_0,    GGUFX_KV_TQ3_0_RESIDUAL,
    GGUFX_KV_GX2,      GGUFX_KV_GX3,
    GGUFX_KV_GX4,
};
enum { kTypeCount = sizeof kTypes / sizeof *kTypes };

typedef struct mask {
    uint32_t flags, window;
    double softcap;
    const float *slopes, *sinks; /* per query head, or NULL */
} mask;

typedef struct naive {
    const ggufx_kv_options *shape;
    const float *k, *v; /* as read back */
    const mask *mask;
} naive;

static double score_of(const naive *a, const float *q, size_t head, size_t token, int32_t at) {
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

static int sees(const mask *m, int32_t at, size_t token) {
    if (m->flags & GGUFX_ATTEND_ALL) return 1;
    if ((int64_t)token > at) return 0;
    return m->window == 0 || (int64_t)token > (int64_t)at - (int64_t)m->window;
}

/* One row in doubles; position of token t is t. */
static void attend_naive(const naive *a, const float *q, size_t head, int32_t at, double *out,
                         double *lse) {
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

static double tolerance_of(const ggufx_kv_options *shape) {
    ggufx_kv_type_facts k = {.struct_size = sizeof k}, v = k;
    assert_int_equal(ggufx_kv_type_info(&k, shape->type_k, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_type_info(&v, shape->type_v, NULL), GGUFX_OK);
    const int wide = shape->type_k == GGUFX_KV_Q8_0 || shape->type_k == GGUFX_KV_IQ4_NL ||
                     shape->type_k == GGUFX_KV_ROT_IQ4_NL;
    if (k.flags & GGUFX_TYPE_IS_QUANTIZED) return wide ? TOL_KV_QUERY_15 : TOL_KV_QUERY_7;
    return v.flags & GGUFX_TYPE_IS_QUANTIZED ? TOL_KV_WEIGHT_15 : TOL_KV_FLOAT;
}

/* The error of a row relative to the length of a typical value, and that of its lse. */
static void check_row(const naive *a, const float *q, size_t head, int32_t at, const float *out,
                      float lse) {
    const size_t d = a->shape->head_dim_v;
    double want[1024], want_lse, error = 0, size = 0;
    attend_naive(a, q, head, at, want, &want_lse);
    for (size_t j = 0; j < d; j++) {
        error += ((double)out[j] - want[j]) * ((double)out[j] - want[j]);
        size += (double)a->v[j] * (double)a->v[j]; /* of the first value */
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

static filled fill(const ggufx_runtime *rt, const ggufx_kv_options *shape) {
    const size_t nk = (size_t)kTokens * shape->n_kv_heads * shape->head_dim_k;
    const size_t nv = (size_t)kTokens * shape->n_kv_heads * shape->head_dim_v;
    filled f = {kv_make(rt, shape), kv_random(nk, 5), kv_random(nv, 6)};
    for (size_t i = 0; i < nk; i++) f.k[i] = f.k[i] * 2.0f + (i % 7 == 0 ? 0.5f : 0.0f);
    kv_fill(f.kv, shape, 0, kTokens, 100, NULL, f.k, f.v);
    assert_int_equal(ggufx_kv_read(f.k, nk, f.v, nv, f.kv, 0, 0, 0, kTokens, NULL), GGUFX_OK);
    return f;
}

static void release(filled *f) {
    ggufx_kv_destroy(f->kv);
    free(f->k);
    free(f->v);
}

static void check_attend(const filled *f, const ggufx_kv_options *shape, size_t n_queries,
                         const mask *m) {
    const size_t rows = n_queries * shape->n_q_heads, nq = rows * shape->head_dim_k;
    const size_t n_out = rows * shape->head_dim_v;
    float *q = kv_random(nq, (uint32_t)n_queries), *out = calloc(n_out, sizeof *out);
    float *lse = calloc(rows, sizeof *lse);
    int32_t *at = calloc(n_queries, sizeof *at);
    assert_true(q && out && lse && at);
    for (size_t i = 0; i < n_queries; i++) /* the last token, then all over the sequence */
        at[i] = i == 0 ? kTokens - 1 : (int32_t)(i * 131 % kTokens);
    ggufx_attend_options options;
    ggufx_attend_options_init(&options);
    options.flags = m->flags;
    options.window = m->window;
    options.softcap = (float)m->softcap;
    options.alibi_slopes = m->slopes;
    options.n_alibi_slopes = m->slopes ? shape->n_q_heads : 0;
    options.sink_logits = m->sinks;
    options.n_sink_logits = m->sinks ? shape->n_q_heads : 0;
    ggufx_error error;
    if (ggufx_kv_attend(out, n_out, lse, f->kv, 0, 0, q, nq, n_queries, at, &options, &error))
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

static const mask kPlain = {0, 0, 0, NULL, NULL};

static void test_every_pair_of_types_matches_doubles(void **state) {
    ggufx_runtime *rt = *state;
    for (size_t k = 0; k < kTypeCount; k++)
        for (size_t step = 0; step < 3; step++) {
            const size_t v = (k + step * 5) % kTypeCount;
            const ggufx_kv_options shape = kv_shape(2, 6, 64, 64, kTypes[k], kTypes[v]);
            filled f = fill(rt, &shape);
            check_attend(&f, &shape, 1, &kPlain);
            check_attend(&f, &shape, 3, &kPlain);
            release(&f);
        }
}

static void test_every_type_matches_doubles_in_every_shape(void **state) {
    ggufx_runtime *rt = *state;
    static const uint32_t shapes[][4] = {/* kv heads, query heads, dim k, dim v */
                                         {2, 2, 80, 80},   {1, 4, 96, 64},   {2, 10, 128, 128},
                                         {1, 7, 192, 128}, {1, 3, 256, 256}, {1, 16, 576, 512}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t t = 0; t < kTypeCount; t++) {
            const uint32_t *s = shapes[i];
            const ggufx_kv_options shape = kv_shape(s[0], s[1], s[2], s[3], kTypes[t], kTypes[t]);
            filled f = fill(rt, &shape);
            check_attend(&f, &shape, 1, &kPlain);
            if (s[2] < 200) check_attend(&f, &shape, i % 2 ? 3 : 64, &kPlain);
            release(&f);
        }
}

static void test_every_option_matches_doubles(void **state) {
    ggufx_runtime *rt = *state;
    static const float slopes[6] = {0.5f, 0.25f, 0.125f, 0.01f, 0.0f, -0.01f};
    static const float sinks[6] = {0.5f, 4.0f, -3.0f, 0.0f, 1.0f, 40.0f};
    static const mask masks[] = {
        {GGUFX_ATTEND_ALL, 0, 0, NULL, NULL},
        {0, 1, 0, NULL, NULL},
        {0, 100, 0, NULL, NULL},
        {0, 0, 2.0, NULL, NULL},
        {0, 0, 0, slopes, NULL},
        {0, 0, 0, NULL, sinks},
        {0, 70, 3.0, slopes, sinks},
        {GGUFX_ATTEND_ALL, 0, 1.5, slopes, sinks},
    };
    for (size_t t = 1; t < kTypeCount; t++) {
        const ggufx_kv_options shape =
            kv_shape(2, 6, 64, 64, kTypes[t], kTypes[(t + 3) % kTypeCount]);
        filled f = fill(rt, &shape);
        for (size_t i = 0; i < sizeof masks / sizeof *masks; i++)
            check_attend(&f, &shape, i % 2 ? 3 : 5, masks + i);
        release(&f);
    }
}

/* The same bits from every instruction set and any number of threads, whatever the split. */
static uint64_t hash_of(const ggufx_runtime *rt, uint32_t type_k, uint32_t type_v, size_t n,
                        size_t at_once) {
    const ggufx_kv_options shape = kv_shape(2, 10, 96, 64, type_k, type_v);
    filled f = fill(rt, &shape);
    const size_t rows = n * shape.n_q_heads, n_out = rows * 64;
    float *q = kv_random(rows * 96, 9), *out = calloc(n_out, sizeof *out);
    float *lse = calloc(rows, sizeof *lse);
    assert_true(q && out && lse);
    int32_t at[64];
    for (size_t i = 0; i < n; i++) at[i] = (int32_t)(i * 37 % kTokens);
    for (size_t i = 0; i < n; i += at_once) {
        const size_t count = n - i < at_once ? n - i : at_once, first = i * shape.n_q_heads;
        kv_attend(out + first * 64, lse + first, f.kv, &shape, 0, q + first * 96, count, at + i, 0,
                  0);
    }
    const uint64_t hash = kv_hash(kv_hash(0xcbf29ce484222325u, out, n_out), lse, rows);
    free(q);
    free(out);
    free(lse);
    release(&f);
    return hash;
}

static void test_split_threads_and_instructions_do_not_change_bits(void **state) {
    (void)state;
    ggufx_runtime *one = kv_runtime(NULL, 1, NULL), *four = kv_runtime(NULL, 4, NULL);
    ggufx_runtime *scalar = kv_scalar_runtime();
    for (size_t t = 0; t < kTypeCount; t++) {
        const uint32_t k = kTypes[t], v = kTypes[(t + 1) % kTypeCount];
        const uint64_t want = hash_of(one, k, v, 7, 7);
        assert_true(hash_of(one, k, v, 7, 1) == want);
        assert_true(hash_of(four, k, v, 7, 2) == want);
        assert_true(hash_of(four, k, v, 7, 7) == want);
        assert_true(hash_of(scalar, k, v, 7, 3) == want);
    }
    ggufx_runtime_destroy(one);
    ggufx_runtime_destroy(four);
    ggufx_runtime_destroy(scalar);
}

/* Whole numbers with 127 in every block are their own codes: nothing is lost but by rounding. */
static void test_queries_of_whole_numbers_lose_nothing(void **state) {
    ggufx_runtime *rt = *state;
    static const uint32_t types[] = {GGUFX_KV_Q8_0, GGUFX_KV_Q5_1, GGUFX_KV_Q5_0,
                                     GGUFX_KV_Q4_1, GGUFX_KV_Q4_0, GGUFX_KV_IQ4_NL};
    const float scale = 0x1p-13f;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const ggufx_kv_options shape = kv_shape(1, 4, 96, 32, types[t], GGUFX_KV_F32);
        filled f = {kv_make(rt, &shape), kv_random(kTokens * 96, 5), kv_random(kTokens * 32, 6)};
        for (size_t i = 0; i < kTokens * 96; i++) f.k[i] += 2.0f;
        kv_fill(f.kv, &shape, 0, kTokens, kTokens, NULL, f.k, f.v);
        assert_int_equal(
            ggufx_kv_read(f.k, kTokens * 96, f.v, kTokens * 32, f.kv, 0, 0, 0, kTokens, NULL),
            GGUFX_OK);
        float *q = kv_random(4 * 96, 8), out[4 * 32], lse[4];
        for (size_t i = 0; i < 4 * 96; i++) q[i] = i % 32 == 7 ? 127.0f : rintf(q[i] * 126.0f);
        kv_attend(out, lse, f.kv, &shape, 0, q, 1, NULL, 0, scale);
        for (size_t i = 0; i < 4 * 96; i++) q[i] *= scale * sqrtf(96.0f); /* attend_naive divides */
        const naive a = {&shape, f.k, f.v, &kPlain};
        for (size_t h = 0; h < 4; h++) {
            double want[32], want_lse;
            attend_naive(&a, q + h * 96, h, kTokens - 1, want, &want_lse);
            assert_true(fabs((double)lse[h] - want_lse) <= TOL_KV_FLOAT * 10);
            for (size_t j = 0; j < 32; j++)
                assert_true(fabs((double)out[h * 32 + j] - want[j]) <= TOL_KV_FLOAT);
        }
        free(q);
        release(&f);
    }
}

static void test_a_batch_gives_the_bits_of_single_calls(void **state) {
    ggufx_runtime *rt = *state;
    ggufx_kv_options shape = kv_shape(2, 6, 64, 64, GGUFX_KV_GX4, GGUFX_KV_Q4_1);
    shape.n_sequences = 3;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(700 * 128, 1), *q = kv_random(5 * 6 * 64, 2);
    static const size_t lengths[3] = {700, 70, 0};
    for (uint32_t i = 0; i < 3; i++) kv_fill(kv, &shape, i, lengths[i], 100, NULL, x, x);
    const uint32_t sequences[5] = {1, 0, 2, 0, 1};
    const int32_t positions[5] = {69, 300, 10, 699, 3};
    float batch[5 * 6 * 64], batch_lse[5 * 6], single[6 * 64], lse[6];
    assert_int_equal(ggufx_kv_attend_batch(batch, 5 * 6 * 64, batch_lse, kv, 0, sequences, q,
                                           5 * 6 * 64, 5, positions, NULL, NULL),
                     GGUFX_OK);
    for (size_t i = 0; i < 5; i++) {
        kv_attend(single, lse, kv, &shape, sequences[i], q + i * 6 * 64, 1, positions + i, 0, 0);
        assert_memory_equal(single, batch + i * 6 * 64, sizeof single);
        assert_memory_equal(lse, batch_lse + i * 6, sizeof lse);
    }
    ggufx_error error; /* the last token of an empty sequence */
    assert_int_equal(ggufx_kv_attend_batch(batch, 3 * 6 * 64, NULL, kv, 0, sequences, q, 3 * 6 * 64,
                                           3, NULL, NULL, &error),
                     GGUFX_E_ARGUMENT);
    const uint32_t wrong[1] = {3};
    assert_int_equal(ggufx_kv_attend_batch(batch, 6 * 64, NULL, kv, 0, wrong, q, 6 * 64, 1,
                                           positions, NULL, &error),
                     GGUFX_E_ARGUMENT);
    ggufx_kv_destroy(kv);
    free(x);
    free(q);
}

static int32_t stop_at(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return --*(int *)user == 0;
}

static void test_an_attention_is_cancelled_at_any_poll(void **state) {
    enum { kLong = 12000 }; /* several rounds */
    ggufx_runtime *rt = *state;
    const ggufx_kv_options shape = kv_shape(2, 8, 128, 128, GGUFX_KV_GX3, GGUFX_KV_F16);
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(kLong * 256, 1), *q = kv_random(8 * 128, 2), want[8 * 128], out[8 * 128];
    kv_fill(kv, &shape, 0, kLong, kLong, NULL, x, x);
    int left = 0;
    const ggufx_progress progress = {
        .struct_size = sizeof progress, .user = &left, .report = stop_at};
    ggufx_attend_options options;
    ggufx_attend_options_init(&options);
    options.progress = &progress;
    kv_attend(want, NULL, kv, &shape, 0, q, 1, NULL, 0, 0);
    int polls = 0;
    for (ggufx_status status = GGUFX_E_CANCELLED; status != GGUFX_OK;) {
        left = ++polls;
        ggufx_error error;
        status =
            ggufx_kv_attend(out, 8 * 128, NULL, kv, 0, 0, q, 8 * 128, 1, NULL, &options, &error);
        if (status != GGUFX_OK) assert_int_equal(status, GGUFX_E_CANCELLED);
        if (status != GGUFX_OK) assert_non_null(strstr(error.message, "progress"));
    }
    assert_true(polls > 2); /* more than one poll, and the call that ran to its end */
    assert_memory_equal(out, want, sizeof out);
    ggufx_kv_destroy(kv);
    free(x);
    free(q);
}

static void test_options_that_mean_nothing_are_refused(void **state) {
    ggufx_runtime *rt = *state;
    const ggufx_kv_options shape = kv_shape(1, 2, 8, 8, GGUFX_KV_F16, GGUFX_KV_F16);
    ggufx_kv *kv = kv_make(rt, &shape);
    float x[16] = {1.0f}, out[16];
    kv_fill(kv, &shape, 0, 2, 2, NULL, x, x);
    const float bad[2] = {0.0f, NAN}, good[2] = {1.0f, 2.0f};
    for (int i = 0; i < 8; i++) {
        ggufx_attend_options o;
        ggufx_attend_options_init(&o);
        if (i == 1) o.softcap = -1.0f;
        if (i == 2) o.softcap = INFINITY;
        if (i == 3 || i == 4) o.alibi_slopes = i == 3 ? bad : good;
        if (i == 3 || i == 4) o.n_alibi_slopes = i == 3 ? 2 : 1;
        if (i == 5) o.n_alibi_slopes = 2;
        if (i == 6) o.sink_logits = bad;
        if (i == 6) o.n_sink_logits = 2;
        if (i == 7) o.reserved[1] = 1;
        ggufx_error error;
        assert_int_equal(ggufx_kv_attend(out, 16, NULL, kv, 0, 0, x, 16, 1, NULL, &o, &error),
                         i ? GGUFX_E_ARGUMENT : GGUFX_OK);
    }
    ggufx_kv_destroy(kv);
}

static int set_up(void **state) {
    *state = kv_runtime(NULL, 2, NULL);
    return 0;
}

static int tear_down(void **state) {
    ggufx_runtime_destroy(*state);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_of_types_matches_doubles),
        cmocka_unit_test(test_every_type_matches_doubles_in_every_shape),
        cmocka_unit_test(test_every_option_matches_doubles),
        cmocka_unit_test(test_split_threads_and_instructions_do_not_change_bits),
        cmocka_unit_test(test_queries_of_whole_numbers_lose_nothing),
        cmocka_unit_test(test_a_batch_gives_the_bits_of_single_calls),
        cmocka_unit_test(test_an_attention_is_cancelled_at_any_poll),
        cmocka_unit_test(test_options_that_mean_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
