/*
 * ggufx_quantize: threads, executors, progress, cancelling, addresses.
 * SPDX-License-Identifier: MIT
 */
#include "ok.h"
#include "quantize_fixture.h"
#include "weight_calls.h"

#include <stdlib.h>
#include <string.h>

/* Returns positive weights, some of them zero. */
static float *weights(size_t n) {
    float *w = malloc(n * sizeof *w);
    for (size_t i = 0; i < n; i++) w[i] = (float)(i % 11) * 0.25f;
    return w;
}

static void test_threads_and_executors_change_no_byte(void **state) {
    (void)state;
    enum { rows = 12 };
    float *x = random_values(rows * kColumns, 9), *w = weights(kColumns);
    ggufx_quantize_args options = defaults();
    options.imatrix = w;
    for (uint32_t type = 0; type < 43; type++) {
        if (!(flags_of(type) & GGUFX_TYPE_HAS_QUANTIZE)) continue;
        const size_t n_bytes = (size_t)row_bytes_of(type, kColumns) * rows;
        uint8_t *expected = malloc(n_bytes), *out = malloc(n_bytes);
        for (uint32_t how = 1; how <= 4; how++) {
            const ggufx_executor reverse = reverse_executor();
            ggufx_runtime_options o = {.struct_size = sizeof o};
            o.threads = how;
            if (how == 4) o.executor = &reverse;
            ggufx_runtime *rt = make_runtime_with(&o);
            memset(out, (int)how, n_bytes);
            OK(quantize_rows(out, n_bytes, rt, type, x, rows, kColumns, &options, ok_error()));
            if (how == 1) memcpy(expected, out, n_bytes);
            assert_memory_equal(out, expected, n_bytes);
            ggufx_runtime_destroy(rt);
        }
        free(out);
        free(expected);
    }
    free(w);
    free(x);
}

static void test_progress_counts_blocks_and_every_poll_can_cancel(void **state) {
    (void)state;
    enum { rows = 640 }; /* 10 ms and more on any instruction set */
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(rows * kColumns, 2);
    const size_t n_bytes = (size_t)row_bytes_of(GGUFX_TYPE_Q4_K, kColumns) * rows;
    uint8_t *out = malloc(n_bytes);
    polls p = {0, UINT64_MAX, 0, 0};
    ggufx_progress progress = poll_progress(&p);
    ggufx_quantize_args options = defaults();
    options.progress = &progress;
    OK(quantize_rows(out, n_bytes, rt, GGUFX_TYPE_Q4_K, x, rows, kColumns, &options, ok_error()));
    assert_int_equal(p.total, rows * kColumns / 256);
    assert_true(p.n_polls > 3);
    for (uint64_t k = 0; k < p.n_polls; k++) {
        ggufx_error e;
        polls stop = {0, k, 0, 0};
        progress.user = &stop;
        assert_int_equal(
            quantize_rows(out, n_bytes, rt, GGUFX_TYPE_Q4_K, x, rows, kColumns, &options, &e),
            GGUFX_E_CANCELLED);
        assert_int_equal(stop.n_polls, k + 1);
        assert_int_equal(e.status, GGUFX_E_CANCELLED);
    }
    free(out);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_rows_may_stand_at_any_address_of_a_float_and_blocks_at_any(void **state) {
    (void)state;
    ggufx_runtime *rt = make_runtime(GGUFX_ISA_BEST, 1);
    float *x = random_values(513, 4);
    uint8_t aligned[1100], odd[1101];
    float *copy = malloc(512 * sizeof *copy);
    memcpy(copy, x + 1, 512 * sizeof *copy);
    const size_t n_bytes = (size_t)row_bytes_of(GGUFX_TYPE_Q6_K, 512);
    quantize_rows(aligned, n_bytes, rt, GGUFX_TYPE_Q6_K, copy, 1, 512, NULL, NULL);
    quantize_rows(odd + 1, n_bytes, rt, GGUFX_TYPE_Q6_K, x + 1, 1, 512, NULL, NULL);
    assert_memory_equal(aligned, odd + 1, n_bytes);
    free(copy);
    free(x);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_threads_and_executors_change_no_byte),
        cmocka_unit_test(test_progress_counts_blocks_and_every_poll_can_cancel),
        cmocka_unit_test(test_rows_may_stand_at_any_address_of_a_float_and_blocks_at_any),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
