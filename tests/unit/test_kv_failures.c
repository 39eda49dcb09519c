/*
 * A KV cache when the host fails: no memory, no executor, the runtime destroyed.
 * SPDX-License-Identifier: MIT
 */
#include "kv_expect.h"
#include "ok.h"

#include <math.h>

static void test_create_survives_any_allocation_that_fails(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    const long before = memory.live;
    const ggufx_kv_options shape = kv_shape(2, 2, 8, 8, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    long failures = 0;
    for (long at = 1;; at++) {
        ggufx_kv *kv = NULL;
        ggufx_error error;
        memory.fail_at = at;
        const ggufx_status status = ggufx_kv_create(&kv, rt, &shape, &error);
        const long unused = memory.fail_at;
        memory.fail_at = 0;
        if (status == GGUFX_OK) {
            assert_true(unused > 0);
            ggufx_kv_destroy(kv);
            break;
        }
        assert_int_equal(status, GGUFX_E_MEMORY);
        assert_null(kv);
        assert_int_equal(memory.live, before);
        failures++;
    }
    assert_true(failures >= 3);
    assert_int_equal(memory.live, before);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

/* State that a failing call must not change. */
static void snapshot(uint64_t out[3], const ggufx_kv *kv) {
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_kv_info(&facts, kv, GGUFX_KV_ALL_LAYERS, ok_error()));
    out[0] = facts.n_tokens;
    out[1] = facts.n_pages;
    out[2] = facts.page_bytes;
}

static void test_append_and_reserve_survive_any_allocation_that_fails(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 2, 8, 8, GGUFX_TYPE_Q8_0, GGUFX_TYPE_F32);
    shape.n_layers = 3;
    float *x = kv_random(1000 * 8, 1), want[16], got[16];
    for (int reserve = 0; reserve < 2; reserve++) {
        long failures = 0;
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, 70, 70, NULL, x, x);
        kv_attend(want, NULL, kv, &shape, 0, x, 1, NULL, 0, 0);
        for (long at = 1;; at++) {
            uint64_t before[3], after[3];
            ggufx_error error;
            snapshot(before, kv);
            memory.fail_at = at;
            const ggufx_status status =
                reserve ? ggufx_kv_reserve(kv, 0, 1000, &error)
                        : kv_append_rows(kv, 0, 0, 930, NULL, x, 930 * 8, x, 930 * 8, &error);
            memory.fail_at = 0;
            if (status == GGUFX_OK) break;
            assert_int_equal(status, GGUFX_E_MEMORY);
            assert_int_equal(error.status, GGUFX_E_MEMORY);
            snapshot(after, kv);
            assert_memory_equal(before, after, sizeof before);
            kv_attend(got, NULL, kv, &shape, 0, x, 1, NULL, 0, 0);
            assert_memory_equal(got, want, sizeof got);
            failures++;
        }
        assert_true(failures >= (reserve ? 3 * 16 - 2 : 14));
        ggufx_kv_destroy(kv);
    }
    const ggufx_kv_options one = kv_shape(1, 1, 8, 8, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    ggufx_kv *kv = kv_make(rt, &one);
    assert_int_equal(ggufx_kv_reserve(kv, 0, UINT64_MAX, NULL), GGUFX_E_MEMORY);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
    free(x);
}

static void test_nothing_is_allocated_after_reserve_nor_by_questions(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 2, NULL);
    ggufx_kv_options shape = kv_shape(2, 4, 64, 64, GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0);
    shape.n_layers = 2;
    float *x = kv_random(600 * 128, 1), *out = malloc(600 * 128 * sizeof *out);
    assert_non_null(out);
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, 600, 600, NULL, x, x); /* starts the threads of the pool */
    OK(ggufx_kv_truncate(kv, 0, 0, ok_error()));
    kv_attend(out, NULL, kv, &shape, 0, x, 64, NULL, GGUFX_ATTEND_ALL, 0);
    OK(ggufx_kv_reserve(kv, 0, 600, ok_error()));
    const long before = memory.requests;
    memory.fail_at = 1; /* any request would fail and be counted */
    ggufx_error error;
    for (uint32_t layer = 0; layer < 2; layer++)
        for (size_t i = 0; i < 600; i += 60) /* 64 at most: ggufx_kv_reserve */
            assert_int_equal(kv_append_rows(kv, layer, 0, 60, NULL, x + i * 128, 60 * 128,
                                            x + i * 128, 60 * 128, &error),
                             GGUFX_OK);
    kv_attend(out, NULL, kv, &shape, 0, x, 64, NULL, 0, 0);
    assert_int_equal(kv_read_rows(out, 600 * 128, NULL, 0, kv, 1, 0, 0, 600, &error), GGUFX_OK);
    assert_int_equal(ggufx_kv_truncate(kv, 0, 10, &error), GGUFX_OK);
    assert_int_equal(ggufx_kv_rollback(kv, 0, &error), GGUFX_OK);
    x[5] = NAN; /* failures allocate nothing, either */
    assert_int_equal(kv_append_rows(kv, 0, 0, 1, NULL, x, 128, x, 128, &error), GGUFX_E_VALUE);
    assert_int_equal(memory.requests, before);
    memory.fail_at = 0;
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
    free(x);
    free(out);
}

static ggufx_status refuse_tasks(void *user, uint32_t n, void (*task)(void *, uint32_t, uint32_t),
                                 void *ctx) {
    (void)n;
    (void)task;
    (void)ctx;
    return *(int *)user ? GGUFX_E_CANCELLED : GGUFX_OK;
}

static void test_an_executor_that_fails_fails_attention_and_slows_appends(void **state) {
    (void)state;
    int fails = 1;
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = 4,
                                     .user = &fails,
                                     .parallel_for = refuse_tasks};
    ggufx_runtime *rt = kv_runtime(NULL, 0, &executor);
    const ggufx_kv_options shape = kv_shape(2, 4, 64, 64, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    float *x = kv_random(600 * 128, 1), *out = malloc(64 * 256 * sizeof *out);
    assert_non_null(out);
    ggufx_kv *kv = kv_make(rt, &shape);
    ggufx_runtime *serial = kv_runtime(NULL, 1, NULL);
    ggufx_kv *want = kv_make(serial, &shape);
    kv_fill(want, &shape, 0, 600, 20, NULL, x, x);
    kv_fill(kv, &shape, 0, 600, 600, NULL, x, x); /* without it, in this thread */
    float *held = malloc(2 * 600 * 128 * sizeof *held);
    assert_non_null(held);
    OK(kv_read_rows(held, 600 * 128, NULL, 0, want, 0, 0, 0, 600, ok_error()));
    OK(kv_read_rows(held + 600 * 128, 600 * 128, NULL, 0, kv, 0, 0, 0, 600, ok_error()));
    assert_memory_equal(held, held + 600 * 128, 600 * 128 * sizeof *held);
    ggufx_kv_destroy(want);
    ggufx_runtime_destroy(serial);
    free(held);
    EXPECT(GGUFX_E_CANCELLED, "executor",
           kv_attend_rows(out, 64 * 256, NULL, 0, kv, 0, 0, x, 64 * 256, 64, NULL, NULL, error));
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
    free(out);
}

static void test_a_cache_outlives_its_runtime(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    const ggufx_kv_options shape = kv_shape(1, 1, 8, 8, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    ggufx_kv *kv = kv_make(rt, &shape);
    ggufx_runtime_destroy(rt);
    float *x = kv_random(200 * 8, 1), out[8];
    kv_fill(kv, &shape, 0, 200, 200, NULL, x, x);
    kv_attend(out, NULL, kv, &shape, 0, x, 1, NULL, 0, 0);
    ggufx_kv_destroy(kv);
    assert_int_equal(memory.live, 0);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_survives_any_allocation_that_fails),
        cmocka_unit_test(test_append_and_reserve_survive_any_allocation_that_fails),
        cmocka_unit_test(test_nothing_is_allocated_after_reserve_nor_by_questions),
        cmocka_unit_test(test_an_executor_that_fails_fails_attention_and_slows_appends),
        cmocka_unit_test(test_a_cache_outlives_its_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
