/*
 * Attention on quantized pages against attention in double precision over the values of
 * ggufx_kv_read: every type of stream, shapes, numbers of queries, and every option.
 * SPDX-License-Identifier: MIT
 */
#include "kv_naive.h"
#include "ok.h"
#include "test_step.h"

static void test_every_pair_of_types_matches_doubles(void **state) {
    ggufx_runtime *rt = *state;
    for (size_t pair = 0; pair < kTypeCount * 3; pair += test_step()) {
        const size_t round = pair / kTypeCount; /* every type of keys, for any step */
        const size_t k = (pair + round) % kTypeCount, v = (k + round * 5) % kTypeCount;
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
        for (size_t t = i % test_step(); t < kTypeCount; t += test_step()) {
            const uint32_t *s = shapes[i];
            const ggufx_kv_options shape = kv_shape(s[0], s[1], s[2], s[3], kTypes[t], kTypes[t]);
            filled f = fill(rt, &shape);
            check_attend(&f, &shape, 1, &kPlain);
            if (s[2] < 200) check_attend(&f, &shape, i % 2 ? 3 : 64, &kPlain);
            release(&f);
        }
}

/* Head lengths that are no multiple of a register, with means that are added back at the end. */
static void test_centred_heads_of_odd_lengths_match_doubles(void **state) {
    ggufx_runtime *rt = *state;
    static const uint32_t types[] = {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q4_1, GGUFX_TYPE_ROT_Q5_0};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        ggufx_kv_options shape = kv_shape(2, 4, 37, 21, types[t], types[t]);
        shape.flags |= GGUFX_KV_CENTRE_ALL;
        filled f = fill(rt, &shape);
        check_attend(&f, &shape, 3, &kPlain);
        release(&f);
    }
}

static void test_every_option_matches_doubles(void **state) {
    ggufx_runtime *rt = *state;
    static const float slopes[6] = {0.5f, 0.25f, 0.125f, 0.01f, 0.0f, -0.01f};
    static const float sinks[6] = {0.5f, 4.0f, -3.0f, 0.0f, 1.0f, 40.0f};
    static const mask masks[] = {
        {GGUFX_ATTEND_ALL, 0, 0, NULL, NULL, 0},
        {0, 1, 0, NULL, NULL, 0},
        {0, 100, 0, NULL, NULL, 0},
        {0, 0, 2.0, NULL, NULL, 0},
        {0, 0, 0, slopes, NULL, 0},
        {0, 0, 0, NULL, sinks, 0},
        {0, 70, 3.0, slopes, sinks, 0},
        {0, 16, 0, NULL, NULL, GGUFX_KV_WINDOW_CHUNKED},
        {0, 64, 3.0, slopes, sinks, GGUFX_KV_WINDOW_CHUNKED},
        {0, 100, 0, NULL, NULL, GGUFX_KV_WINDOW_CHUNKED},
        {0, 1, 0, NULL, NULL, GGUFX_KV_WINDOW_SYMMETRIC},
        {0, 64, 0, NULL, NULL, GGUFX_KV_WINDOW_SYMMETRIC},
        {0, 201, 3.0, slopes, sinks, GGUFX_KV_WINDOW_SYMMETRIC},
        {GGUFX_ATTEND_ALL, 0, 1.5, slopes, sinks, 0},
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

/* Integers with 127 in every block are their own codes: only rounding remains. */
static void test_queries_of_whole_numbers_lose_nothing(void **state) {
    ggufx_runtime *rt = *state;
    static const uint32_t types[] = {GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q5_1, GGUFX_TYPE_Q5_0,
                                     GGUFX_TYPE_Q4_1, GGUFX_TYPE_Q4_0, GGUFX_TYPE_IQ4_NL};
    const float scale = 0x1p-13f;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const ggufx_kv_options shape = kv_shape(1, 4, 96, 32, types[t], GGUFX_TYPE_F32);
        filled f = {kv_make(rt, &shape), kv_random(kTokens * 96, 5), kv_random(kTokens * 32, 6)};
        for (size_t i = 0; i < kTokens * 96; i++) f.k[i] += 2.0f;
        kv_fill(f.kv, &shape, 0, kTokens, kTokens, NULL, f.k, f.v);
        OK(kv_read_rows(f.k, kTokens * 96, f.v, kTokens * 32, f.kv, 0, 0, 0, kTokens, ok_error()));
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_pair_of_types_matches_doubles),
        cmocka_unit_test(test_every_type_matches_doubles_in_every_shape),
        cmocka_unit_test(test_every_option_matches_doubles),
        cmocka_unit_test(test_centred_heads_of_odd_lengths_match_doubles),
        cmocka_unit_test(test_queries_of_whole_numbers_lose_nothing),
    };
    return cmocka_run_group_tests(tests, kv_set_up, kv_tear_down);
}
