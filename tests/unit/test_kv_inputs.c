/*
 * Input of tokens: sizes of appends, batches, 16-bit values.
 * SPDX-License-Identifier: MIT
 */
#include "kv_small.h"
#include "ok.h"

#include <math.h>
#include <stdio.h>

static void test_sizes_of_appends_change_no_bit_of_any_type(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_Q8_0,  GGUFX_TYPE_Q5_1,   GGUFX_TYPE_ROT_Q4_0,
                                     GGUFX_TYPE_TQ3_0, GGUFX_TYPE_IQ4_NL, GGUFX_TYPE_GX2,
                                     GGUFX_TYPE_GX3,   GGUFX_TYPE_GX4,    GGUFX_TYPE_F32};
    static const size_t steps[] = {1, 7, 64, 200, 300};
    enum { kTokens = 300 };
    ggufx_runtime *rt = kv_runtime(NULL, 2, NULL);
    float *k = kv_random(kTokens * kRow, 1), *v = kv_random(kTokens * kRow, 2);
    float *first = malloc(2 * kTokens * kRow * 4), *back = malloc(2 * kTokens * kRow * 4);
    assert_true(first && back);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const ggufx_kv_options shape = shape_of(types[t], types[(t + 2) % 9], 1);
        uint64_t bytes = 0;
        for (size_t s = 0; s < 5; s++) {
            ggufx_kv *kv = kv_make(rt, &shape);
            kv_fill(kv, &shape, 0, kTokens, steps[s], NULL, k, v);
            float *to = s ? back : first;
            read_all(kv, 0, 0, kTokens, to, to + kTokens * kRow);
            if (s) assert_memory_equal(first, back, 2 * kTokens * kRow * sizeof *back);
            if (s) assert_int_equal(facts_of(kv).page_bytes, bytes);
            bytes = facts_of(kv).page_bytes;
            ggufx_kv_destroy(kv);
        }
    }
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
    free(first);
    free(back);
}

static void test_a_batch_is_the_same_as_single_appends_and_all_or_nothing(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX4, GGUFX_TYPE_GX2, 3);
    enum { kTokens = 400 };
    float *x = kv_random(kTokens * kRow, 1), *a = malloc(kTokens * kRow * 4),
          *b = malloc(kTokens * kRow * 4);
    uint32_t sequences[kTokens];
    int32_t positions[kTokens], next[3] = {0, 0, 0};
    for (size_t i = 0; i < kTokens; i++) {
        sequences[i] = (uint32_t)(i < 100 ? i % 3 : i / 40 % 3);
        positions[i] = next[sequences[i]]++;
    }
    ggufx_kv *batch = kv_make(rt, &shape);
    const long live = memory.live;
    for (long at = 1;; at++) { /* no failing allocation leaks */
        memory.fail_at = at;
        const ggufx_status status = kv_append_batch(batch, 0, kTokens, sequences, positions, x,
                                                    kTokens * kRow, x, kTokens * kRow, NULL);
        memory.fail_at = 0;
        if (status == GGUFX_OK) break;
        assert_int_equal(status, GGUFX_E_MEMORY);
        assert_int_equal(facts_of(batch).n_pages, 0);
        assert_true(memory.live <= live + 3); /* tables may have grown */
    }
    for (uint32_t s = 0; s < 3; s++) {
        const size_t n = (size_t)next[s];
        size_t at = 0;
        assert_int_equal(length_of(batch, s), n);
        read_all(batch, s, 0, n, a, b);
        for (size_t i = 0; i < kTokens; i++) { /* sinks and last tokens: exact except for F16 */
            if (sequences[i] != s) continue;
            if (at < 4) assert_true(fabsf(a[at * kRow] - x[i * kRow]) <= 0x1p-11f);
            if (at >= 4 + 128) assert_true(fabsf(b[at * kRow + 1] - x[i * kRow + 1]) <= 0x1p-11f);
            at++;
        }
        int32_t got[kTokens];
        OK(ggufx_kv_positions(got, batch, s, 0, n, ok_error()));
        for (size_t i = 0; i < n; i++) assert_int_equal(got[i], (int32_t)i);
    }
    ggufx_error error;
    sequences[9] = 3;
    assert_int_equal(
        kv_append_batch(batch, 0, 10, sequences, positions, x, 10 * kRow, x, 10 * kRow, &error),
        GGUFX_E_ARGUMENT);
    sequences[9] = 0;
    assert_int_equal(
        kv_append_batch(batch, 0, 10, sequences, positions, x, 10 * kRow, x, 10 * kRow, &error),
        GGUFX_E_ARGUMENT); /* positions decrease */
    assert_int_equal(kv_append_batch(batch, 0, 1, NULL, positions, x, kRow, x, kRow, &error),
                     GGUFX_E_ARGUMENT);
    x[kRow + 1] = NAN;
    for (int32_t i = 0; i < 2; i++) positions[i] = 1000;
    assert_int_equal(
        kv_append_batch(batch, 0, 2, sequences, positions, x, 2 * kRow, x, 2 * kRow, &error),
        GGUFX_E_VALUE);
    assert_int_equal(error.index, 1);
    assert_int_equal(length_of(batch, 0), next[0]);
    ggufx_kv_destroy(batch);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
    free(x);
    free(a);
    free(b);
}

static void test_halves_are_stored_as_the_floats_they_are(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0, 1);
    enum { kTokens = 70, kN = kTokens * kRow };
    uint16_t *half = malloc(kN * sizeof *half);
    float *x = malloc(kN * sizeof *x), *a = malloc(2 * kN * 4), *b = malloc(2 * kN * 4);
    assert_true(half && x && a && b);
    const uint32_t types[] = {GGUFX_TYPE_F16, GGUFX_TYPE_BF16};
    for (size_t t = 0; t < 2; t++) {
        const uint32_t type = types[t];
        for (size_t i = 0; i < kN; i++) {
            const uint32_t m = (uint32_t)(i * 37 % 128);
            half[i] = (uint16_t)(type == GGUFX_TYPE_F16 ? 0x3c00 + m : 0x3f80 + m);
            x[i] = 1.0f + (float)m * (type == GGUFX_TYPE_F16 ? 0x1p-10f : 0x1p-7f);
        }
        ggufx_kv *one = kv_make(rt, &shape), *two = kv_make(rt, &shape);
        kv_fill(one, &shape, 0, kTokens, kTokens, NULL, x, x);
        OK(kv_append_as(two, type, 0, 0, kTokens, NULL, half, kN, half, kN, ok_error()));
        read_all(one, 0, 0, kTokens, a, a + kN);
        read_all(two, 0, 0, kTokens, b, b + kN);
        assert_memory_equal(a, b, 2 * kN * sizeof *a);
        assert_memory_equal(a, x, kN * sizeof *a);
        ggufx_error error;
        half[70] = type == GGUFX_TYPE_F16 ? 0x7c00 : 0x7f80;
        assert_int_equal(
            kv_append_as(two, type, 0, 0, 2, NULL, half, 2 * kRow, half, 2 * kRow, &error),
            GGUFX_E_VALUE);
        assert_int_equal(error.index, 70 / kRow);
        ggufx_kv_destroy(one);
        ggufx_kv_destroy(two);
    }
    ggufx_kv *kv = kv_make(rt, &shape);
    assert_int_equal(kv_append_as(kv, GGUFX_TYPE_F64, 0, 0, 1, NULL, half, kRow, half, kRow, NULL),
                     GGUFX_E_TYPE);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(half);
    free(x);
    free(a);
    free(b);
}

/* For any number of values beyond whole registers. */
static void test_every_value_of_a_token_is_checked(void **state) {
    (void)state;
    enum { kDim = 29 };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0);
    ggufx_kv *kv = kv_make(rt, &shape);
    for (size_t i = 0; i < kDim; i++) {
        float x[kDim] = {0}, bad[kDim] = {0};
        uint16_t half[kDim] = {0}, bad_half[kDim] = {0};
        ggufx_error error;
        char name[32];
        bad[i] = i % 2 ? NAN : -65505.0f;
        bad_half[i] = i % 2 ? 0xfe00 : 0x7c00; /* f16: NaN, infinity */
        assert_int_equal(kv_append_rows(kv, 0, 0, 1, NULL, x, kDim, bad, kDim, &error),
                         GGUFX_E_VALUE);
        snprintf(name, sizeof name, "[%zu] of token 0", i);
        assert_int_equal(error.index, 0);
        assert_non_null(strstr(error.message, name));
        assert_int_equal(
            kv_append_as(kv, GGUFX_TYPE_F16, 0, 0, 1, NULL, bad_half, kDim, half, kDim, &error),
            GGUFX_E_VALUE);
        snprintf(name, sizeof name, "[%zu] of token 0", i);
        assert_int_equal(error.index, 0);
        assert_non_null(strstr(error.message, name));
    }
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_appends_change_no_bit_of_any_type),
        cmocka_unit_test(test_a_batch_is_the_same_as_single_appends_and_all_or_nothing),
        cmocka_unit_test(test_halves_are_stored_as_the_floats_they_are),
        cmocka_unit_test(test_every_value_of_a_token_is_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
