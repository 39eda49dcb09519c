/*
 * Attention over a KV cache against attention in double precision.
 * SPDX-License-Identifier: MIT
 */
#include "kv_data.h"

#include <math.h>

static const uint32_t kTypes[] = {GGUFX_TYPE_F32, GGUFX_TYPE_F16, GGUFX_TYPE_BF16, GGUFX_TYPE_Q8_0};

/* Fills a cache, attends with both masks, compares. Queries are at the first, a middle and the last
 * token. */
static void check_shape(const ggufx_runtime *rt, ggufx_kv_options shape, size_t n, float scale) {
    data d = make_data(shape, n, 3, shape.head_dim_k + shape.n_q_heads);
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, n, n, NULL, d.k, d.v);
    int32_t *own = malloc(n * sizeof *own);
    assert_non_null(own);
    for (size_t i = 0; i < n; i++) own[i] = (int32_t)i;
    const int32_t positions[3] = {0, (int32_t)n / 2, (int32_t)n - 1};
    kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 3, positions, 0, scale);
    kv_check(d.out, d.lse, kv, &shape, 0, d.q, 3, positions, own, (double)scale);
    kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 3, NULL, 0, scale); /* the last three tokens */
    kv_check(d.out, d.lse, kv, &shape, 0, d.q, 3, own + n - 3, own, (double)scale);
    kv_attend(d.out, NULL, kv, &shape, 0, d.q, 3, NULL, GGUFX_ATTEND_ALL, scale);
    kv_check(d.out, NULL, kv, &shape, 0, d.q, 3, NULL, own, (double)scale);
    ggufx_kv_destroy(kv);
    free(own);
    free_data(&d);
}

static void test_attention_matches_doubles_for_every_type_and_shape(void **state) {
    (void)state;
    static const uint32_t shapes[][4] = {/* kv heads, query heads, dim k, dim v */
                                         {1, 1, 8, 8},     {2, 2, 64, 64}, {2, 4, 80, 80},
                                         {2, 8, 128, 128}, {1, 7, 64, 32}, {1, 4, 576, 512},
                                         {3, 6, 33, 17},   {1, 1, 1, 1},   {2, 2, 129, 257}};
    ggufx_runtime *rt = kv_runtime(NULL, 2, NULL);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (size_t k = 0; k < 4; k++)
            for (size_t v = 0; v < 4; v++) {
                if (i > 1 && v != k && v != (k + 1) % 4) continue;
                const uint32_t *s = shapes[i];
                check_shape(rt, kv_shape(s[0], s[1], s[2], s[3], kTypes[k], kTypes[v]), 150, 0);
            }
    ggufx_runtime_destroy(rt);
}

static void test_long_context_with_rising_and_steep_scores_matches_doubles(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 2, NULL);
    const ggufx_kv_options shape = kv_shape(1, 2, 16, 24, GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    for (int steep = 0; steep < 2; steep++) {
        data d = make_data(shape, 2000, 3, 7);
        for (size_t t = 0; t < d.n; t++) /* scores exceed the slack of 8 many times */
            for (size_t i = 0; i < 16; i++) d.k[t * 16 + i] += steep ? (float)t * 0.05f : 0.0f;
        for (size_t i = 0; i < 3 * 2 * 16; i++) d.q[i] = fabsf(d.q[i]);
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, d.n, 333, NULL, d.k, d.v);
        kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 3, NULL, GGUFX_ATTEND_ALL, 0);
        kv_check(d.out, d.lse, kv, &shape, 0, d.q, 3, NULL, NULL, 0);
        kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 3, NULL, GGUFX_ATTEND_ALL, -0.7f);
        kv_check(d.out, d.lse, kv, &shape, 0, d.q, 3, NULL, NULL, (double)-0.7f);
        ggufx_kv_destroy(kv);
        free_data(&d);
    }
    ggufx_runtime_destroy(rt);
}

static void test_a_query_that_is_not_finite_spoils_its_head_alone(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = kv_shape(1, 3, 8, 8, GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    data d = make_data(shape, 10, 1, 9);
    float clean[24], clean_lse[3];
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, 10, 10, NULL, d.k, d.v);
    kv_attend(clean, clean_lse, kv, &shape, 0, d.q, 1, NULL, 0, 0);
    const float bad[] = {NAN, -NAN, INFINITY, -INFINITY, 3.4e38f /* the score overflows */};
    for (size_t i = 0; i < 5; i++) {
        const float kept = d.q[8 + 5];
        d.q[8 + 5] = bad[i];
        kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 1, NULL, 0, i == 4 ? 100.0f : 0);
        for (int j = 0; j < 8; j++) assert_int_equal(kv_bits(d.out[8 + j]), 0x7fc00000u);
        assert_int_equal(kv_bits(d.lse[1]), 0x7fc00000u);
        if (i < 4) {
            assert_memory_equal(d.out, clean, 8 * sizeof *clean);
            assert_memory_equal(d.out + 16, clean + 16, 8 * sizeof *clean);
            assert_int_equal(kv_bits(d.lse[2]), kv_bits(clean_lse[2]));
        }
        d.q[8 + 5] = kept;
    }
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free_data(&d);
}

static void test_a_query_that_sees_nothing_gives_zero(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = kv_shape(1, 1, 8, 8, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    data d = make_data(shape, 3, 1, 9);
    ggufx_kv *kv = kv_make(rt, &shape);
    const int32_t keys[3] = {5, 9, 9}, queries[2] = {4, 5};
    kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 1, NULL, GGUFX_ATTEND_ALL, 0); /* empty cache */
    assert_int_equal(kv_bits(d.out[0]), 0);
    assert_true(d.lse[0] == -INFINITY);
    kv_fill(kv, &shape, 0, 3, 3, keys, d.k, d.v);
    kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 1, queries, 0, 0);
    for (int j = 0; j < 8; j++) assert_int_equal(kv_bits(d.out[j]), 0);
    assert_true(d.lse[0] == -INFINITY);
    kv_attend(d.out, d.lse, kv, &shape, 0, d.q, 1, queries + 1, 0, 0);
    kv_check(d.out, d.lse, kv, &shape, 0, d.q, 1, queries + 1, keys, 0);
    assert_false(isinf(d.lse[0]));
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free_data(&d);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attention_matches_doubles_for_every_type_and_shape),
        cmocka_unit_test(test_long_context_with_rising_and_steep_scores_matches_doubles),
        cmocka_unit_test(test_a_query_that_is_not_finite_spoils_its_head_alone),
        cmocka_unit_test(test_a_query_that_sees_nothing_gives_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
