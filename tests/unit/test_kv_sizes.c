/*
 * Attention on one instruction set against attention in double precision over the values of
 * ggufx_kv_read: every pair of types of keys and values, heads of 1 to 200; sinks at every third
 * size.
 * usage: test_kv_sizes scalar|best [STEP [SIZE]]: sizes from SIZE, STEP apart
 * SPDX-License-Identifier: MIT
 */
#include "kv_naive.h"
#include "ok.h"
#include "test_step.h"

enum {
    kMostSize = 200,
    kSinks = 4,
    kSizesTokens = kSinks + 64 + 5, /* a full page after the sinks, and a partial one */
    kMostRows = 6,
};

static const char *isa_name;
static uint32_t size_step = 1, size_among = 1;

/* Buffers for the largest case. */
typedef struct room {
    ggufx_runtime *rt;
    float k[kSizesTokens * kMostSize], v[kSizesTokens * kMostSize]; /* as appended */
    float read_k[kSizesTokens * kMostSize], read_v[kSizesTokens * kMostSize];
    float q[kMostRows * kMostSize], out[kMostRows * kMostSize], lse[kMostRows];
} room;

/* Keys and values with means, so that a result is as long as a value. Otherwise values cancel, and
 * an error of a value's length is large relative to the result. */
static void fill_inputs(room *r, uint32_t d) {
    float *parts[] = {kv_random((size_t)kSizesTokens * d, d),
                      kv_random((size_t)kSizesTokens * d, d + 1),
                      kv_random((size_t)kMostRows * d, d + 2)};
    for (size_t i = 0; i < (size_t)kSizesTokens * d; i++) {
        r->k[i] = parts[0][i] * 2.0f + (i % d % 7 == 0 ? 0.5f : 0.0f);
        r->v[i] = parts[1][i] * 0.5f + sinf((float)(i % d) * 1.7f + 0.6f);
    }
    memcpy(r->q, parts[2], (size_t)kMostRows * d * sizeof *r->q);
    for (size_t i = 0; i < 3; i++) free(parts[i]);
}

static double size_tolerance(const ggufx_kv_options *shape) {
    const double loose = tolerance_of(shape); /* depends on the quantized streams */
    if (loose == TOL_KV_QUERY_7) return TOL_KV_LONG_QUERY_7;
    return loose == TOL_KV_FLOAT ? TOL_KV_FLOAT : TOL_KV_LONG_15;
}

/* Checks one row of a query at position `at` against doubles. */
static void check_size(const room *r, const ggufx_kv_options *shape, size_t row, int32_t at) {
    const uint32_t d = shape->head_dim_k;
    double score[kSizesTokens], want[kMostSize] = {0}, most = -INFINITY, l = 0, error = 0, size = 0;
    for (int32_t t = 0; t <= at; t++) {
        score[t] = 0;
        for (uint32_t j = 0; j < d; j++)
            score[t] += (double)r->q[row * d + j] * (double)r->read_k[(uint32_t)t * d + j];
        score[t] /= sqrt((double)d);
        most = fmax(most, score[t]);
    }
    for (int32_t t = 0; t <= at; t++) {
        const double p = exp(score[t] - most);
        l += p;
        for (uint32_t j = 0; j < d; j++) want[j] += p * (double)r->read_v[(uint32_t)t * d + j];
    }
    for (uint32_t j = 0; j < d; j++) {
        const double difference = (double)r->out[row * d + j] - want[j] / l;
        error += difference * difference;
        size += want[j] / l * (want[j] / l);
    }
    const double tolerance = size_tolerance(shape), lse = most + log(l);
    const int ok =
        sqrt(error) <= tolerance * sqrt(size) && fabs((double)r->lse[row] - lse) <= 2 * tolerance;
    if (!ok)
        fail_msg("%s: types %u and %u, heads of %u, %s: row %zu at %d: relative error %g, lse %g "
                 "not %g",
                 isa_name, shape->type_k, shape->type_v, d,
                 shape->n_sink_tokens == kSinks ? "sinks" : "no sinks", row, at, sqrt(error / size),
                 (double)r->lse[row], lse);
}

/* Two queries: one sees all, one ends within the page. */
static void check_pair(room *r, uint32_t d, uint32_t type_k, uint32_t type_v, uint32_t n_sinks,
                       uint32_t n_q_heads) {
    ggufx_kv_options shape = kv_shape(1, n_q_heads, d, d, type_k, type_v);
    shape.n_sink_tokens = n_sinks;
    const size_t n = (size_t)kSizesTokens * d, rows = 2 * n_q_heads;
    static const int32_t at[2] = {kSizesTokens - 1, kSinks + 40};
    ggufx_kv *kv = kv_make(r->rt, &shape);
    kv_fill(kv, &shape, 0, kSizesTokens, kSizesTokens, NULL, r->k, r->v);
    OK(kv_read_rows(r->read_k, n, r->read_v, n, kv, 0, 0, 0, kSizesTokens, ok_error()));
    kv_attend(r->out, r->lse, kv, &shape, 0, r->q, 2, at, 0, 0);
    for (size_t row = 0; row < rows; row++) check_size(r, &shape, row, at[row / n_q_heads]);
    ggufx_kv_destroy(kv);
}

static uint32_t multiple_of(uint32_t type) {
    return type == GGUFX_TYPE_GX2 || type == GGUFX_TYPE_GX3 || type == GGUFX_TYPE_GX4 ? 16 : 1;
}

static void check_pairs(room *r, uint32_t d, uint32_t n_sinks) {
    for (size_t k = 0; k < kTypeCount; k++)
        for (size_t v = 0; v < kTypeCount; v++)
            if (d % multiple_of(kTypes[k]) == 0 && d % multiple_of(kTypes[v]) == 0)
                check_pair(r, d, kTypes[k], kTypes[v], n_sinks, 1 + (uint32_t)(d + k + v) % 3);
}

static void test_every_pair_of_types_and_size_matches_doubles(void **state) {
    room *r = *state;
    uint32_t n = 0;
    for (uint32_t d = 1; d <= kMostSize; d++) {
        if (d % size_step != size_among % size_step) continue;
        fill_inputs(r, d);
        check_pairs(r, d, GGUFX_KV_NO_SINK_TOKENS);
        if (n++ % 3 == 0) check_pairs(r, d, kSinks);
    }
    assert_true(n > 0);
}

static int set_up(void **state) {
    room *r = calloc(1, sizeof *r);
    assert_non_null(r);
    r->rt = strcmp(isa_name, "scalar") == 0 ? kv_scalar_runtime() : kv_runtime(NULL, 1, NULL);
    *state = r;
    return 0;
}

static int tear_down(void **state) {
    room *r = *state;
    ggufx_runtime_destroy(r->rt);
    free(r);
    return 0;
}

int main(int argc, char **argv) {
    isa_name = argc > 1 ? argv[1] : "scalar";
    if (argc > 2) size_step = (uint32_t)strtoul(argv[2], NULL, 10);
    if (argc > 3) size_among = (uint32_t)strtoul(argv[3], NULL, 10);
    size_step *= (uint32_t)test_step();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_of_types_and_size_matches_doubles),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
