/*
 * Boundaries of a sequence's pages: for any sizes of appends, shared or not, and after failed
 * appends.
 * SPDX-License-Identifier: MIT
 */
#include "kv_small.h"
#include "ok.h"

#include <math.h>

enum { kSinks = 5, kTokens = 210 };

static ggufx_kv_options encoded_shape(void) {
    ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX3, GGUFX_TYPE_Q4_0, 3);
    shape.n_sink_tokens = kSinks;
    return shape;
}

/* Asserts that both sequences hold the same n tokens, bit for bit. */
static void assert_same_tokens(const ggufx_kv *a, uint32_t sequence_a, const ggufx_kv *b,
                               uint32_t sequence_b, size_t n) {
    float *x = malloc(4 * n * kRow * sizeof *x);
    assert_non_null(x);
    assert_int_equal(length_of(a, sequence_a), n);
    read_all(a, sequence_a, 0, n, x, x + n * kRow);
    read_all(b, sequence_b, 0, n, x + 2 * n * kRow, x + 3 * n * kRow);
    assert_memory_equal(x, x + 2 * n * kRow, 2 * n * kRow * sizeof *x);
    free(x);
}

static void test_appends_that_end_anywhere_store_the_same(void **state) {
    (void)state;
    const ggufx_kv_options shape = encoded_shape();
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kTokens * kRow, 1);
    ggufx_kv *whole = kv_make(rt, &shape);
    kv_fill(whole, &shape, 0, kTokens, kTokens, NULL, x, x);
    for (size_t first = 1; first <= 2 * 64 + kSinks + 1; first += first < 8 ? 1 : 15) {
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, first, first, NULL, x, x);
        kv_fill(kv, &shape, 0, kTokens - first, kTokens, NULL, x + first * kRow, x + first * kRow);
        assert_same_tokens(kv, 0, whole, 0, kTokens);
        ggufx_kv_destroy(kv);
    }
    ggufx_kv_destroy(whole);
    ggufx_runtime_destroy(rt);
    free(x);
}

/* Copies that diverge within the sinks, within a page and at its end, then continue separately. */
static void test_copies_go_on_as_if_they_were_alone(void **state) {
    (void)state;
    const ggufx_kv_options shape = encoded_shape();
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kTokens * kRow, 1), *y = kv_random(kTokens * kRow, 2);
    ggufx_kv *alone = kv_make(rt, &shape);
    kv_fill(alone, &shape, 0, kTokens, kTokens, NULL, x, x);
    static const size_t common[] = {1, 2, kSinks, kSinks + 1, 40, kSinks + 64, kSinks + 100};
    for (size_t c = 0; c < sizeof common / sizeof *common; c++) {
        const size_t n = common[c], left = kTokens - n;
        ggufx_kv *kv = kv_make(rt, &shape);
        kv_fill(kv, &shape, 0, n, n, NULL, x, x);
        OK(ggufx_kv_copy(kv, 0, 1, 0, kv_rest(kv, 0, 0), ok_error()));
        kv_fill(kv, &shape, 0, left, 1, NULL, x + n * kRow, x + n * kRow);
        kv_fill(kv, &shape, 1, left, 1, NULL, y + n * kRow, y + n * kRow);
        assert_same_tokens(kv, 0, alone, 0, kTokens);
        /* the other one: x, then y; its means come from the first page of x */
        memcpy(y, x, n * kRow * sizeof *y);
        kv_fill(kv, &shape, 2, kTokens, kTokens, NULL, y, y);
        assert_same_tokens(kv, 1, kv, 2, kTokens);
        ggufx_kv_destroy(kv);
    }
    ggufx_kv_destroy(alone);
    ggufx_runtime_destroy(rt);
    free(x);
    free(y);
}

/* An executor that refuses, or runs the tasks one after the other. */
static ggufx_status run_or_refuse(void *user, uint32_t n, void (*task)(void *, uint32_t, uint32_t),
                                  void *ctx) {
    if (*(int *)user) return GGUFX_E_CANCELLED;
    for (uint32_t i = 0; i < n; i++) task(ctx, i, 0);
    return GGUFX_OK;
}

enum { kMany = 4000 }; /* enough work for the executor */

/* A call after `held` tokens is rolled back; the next one, with other values, must not be
 * affected. */
static void check_failed_append(size_t held, int shared, const float *x, const float *other) {
    const ggufx_kv_options shape = encoded_shape();
    int refuse = 0;
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = 2,
                                     .user = &refuse,
                                     .parallel_for = run_or_refuse};
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 0, &executor);
    ggufx_kv *kv = kv_make(rt, &shape), *fresh = kv_make(rt, &shape);
    for (size_t i = 0; i < 2; i++) {
        ggufx_kv *to = i ? kv : fresh;
        kv_fill(to, &shape, 0, held, held ? held : 1, NULL, x, x);
        if (shared) OK(ggufx_kv_copy(to, 0, 1, 0, kv_rest(to, 0, 0), ok_error()));
    }
    const long live = memory.live;
    refuse = 1; /* serial, but no failure */
    ggufx_error error;
    assert_int_equal(ggufx_kv_begin(kv, 0, &error), GGUFX_OK);
    assert_int_equal(
        kv_append_rows(kv, 0, 0, kMany, NULL, other, kMany * kRow, other, kMany * kRow, &error),
        GGUFX_OK);
    assert_true(memory.live > live);
    assert_int_equal(ggufx_kv_rollback(kv, 0, &error), GGUFX_OK);
    assert_int_equal(length_of(kv, 0), held);
    if (held) assert_same_tokens(kv, 0, fresh, 0, held);
    assert_int_equal(ggufx_kv_commit(kv, 0, &error), GGUFX_OK);
    if (held) assert_same_tokens(kv, 0, fresh, 0, held);
    refuse = 0;
    for (size_t i = 0; i < 2; i++) {
        kv_fill(i ? kv : fresh, &shape, 0, kMany, kMany, NULL, x + held * kRow, x + held * kRow);
        kv_fill(i ? kv : fresh, &shape, 2, 80, 80, NULL, other, other);
    }
    assert_same_tokens(kv, 0, fresh, 0, held + kMany);
    assert_same_tokens(kv, 2, fresh, 2, 80);
    if (shared) assert_same_tokens(kv, 1, fresh, 1, held);
    ggufx_kv_destroy(kv);
    ggufx_kv_destroy(fresh);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

static void test_failed_appends_leave_no_trace(void **state) {
    (void)state;
    static const size_t held[] = {0, 3, kSinks, 40, kSinks + 64, kSinks + 64 + 9};
    float *x = kv_random((kMany + 100) * kRow, 3), *other = kv_random(kMany * kRow, 4);
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        for (int shared = 0; shared < 2; shared++)
            if (held[i] || !shared) check_failed_append(held[i], shared, x, other);
    free(x);
    free(other);
}

/* The largest values of a stream are accepted, and the next larger ones are refused with their
 * index, alone or after others. */
static void test_limits_of_values_are_exact(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        float most, more;
    } cases[] = {{GGUFX_TYPE_F16, 65504.0f, 0x1.ffc002p15f},
                 {GGUFX_TYPE_Q8_0, 65504.0f, 0x1.ffc002p15f},
                 {GGUFX_TYPE_GX4, 65504.0f, 0x1.ffc002p15f},
                 {GGUFX_TYPE_BF16, 0x1.fefffep127f, 0x1.ffp127f}};
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(9 * kRow, 5);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t at = 0; at < 9 * kRow; at += 71) {
            const ggufx_kv_options shape = shape_of(cases[c].type, GGUFX_TYPE_F32, 1);
            ggufx_kv *kv = kv_make(rt, &shape);
            const float kept = x[at], before = x[at / 2], last = x[9 * kRow - 1];
            ggufx_error error;
            x[9 * kRow - 1] = at ? INFINITY : last;
            x[at / 2] = cases[c].most;
            x[at] = -cases[c].more;
            assert_int_equal(kv_append_rows(kv, 0, 0, 9, NULL, x, 9 * kRow, x, 9 * kRow, &error),
                             GGUFX_E_VALUE);
            assert_int_equal(error.index, at / kRow);
            x[9 * kRow - 1] = last;
            x[at] = -cases[c].most;
            assert_int_equal(kv_append_rows(kv, 0, 0, 9, NULL, x, 9 * kRow, x, 9 * kRow, &error),
                             GGUFX_OK);
            x[at / 2] = before;
            x[at] = kept;
            ggufx_kv_destroy(kv);
        }
    ggufx_runtime_destroy(rt);
    free(x);
}

/* Runs of a batch that were appended stay, so the others must be completed, too. */
static void test_batches_need_no_executor_and_take_equal_positions(void **state) {
    (void)state;
    const ggufx_kv_options shape = encoded_shape();
    int refuse = 1;
    const ggufx_executor executor = {.struct_size = sizeof executor,
                                     .max_workers = 2,
                                     .user = &refuse,
                                     .parallel_for = run_or_refuse};
    ggufx_runtime *rt = kv_runtime(NULL, 0, &executor), *serial = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = kv_make(rt, &shape), *want = kv_make(serial, &shape);
    float *x = kv_random(2 * kMany * kRow, 7);
    uint32_t *sequences = malloc(2 * kMany * sizeof *sequences);
    int32_t *positions = malloc(2 * kMany * sizeof *positions);
    assert_true(sequences && positions);
    for (size_t i = 0; i < 2 * kMany; i++) {
        sequences[i] = i >= kMany;
        positions[i] = (int32_t)(i % kMany / 2); /* each twice */
    }
    for (size_t i = 0; i < 2; i++)
        OK(kv_append_batch(i ? kv : want, 0, 2 * kMany, sequences, positions, x, 2 * kMany * kRow,
                           x, 2 * kMany * kRow, ok_error()));
    for (uint32_t s = 0; s < 2; s++) assert_same_tokens(kv, s, want, s, kMany);
    ggufx_kv_destroy(kv);
    ggufx_kv_destroy(want);
    ggufx_runtime_destroy(rt);
    ggufx_runtime_destroy(serial);
    free(x);
    free(sequences);
    free(positions);
}

static void test_positions_go_on_up_to_the_largest(void **state) {
    (void)state;
    const ggufx_kv_options shape = encoded_shape();
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(3 * kRow, 6);
    ggufx_kv *kv = kv_make(rt, &shape);
    const int32_t position = INT32_MAX - 2;
    kv_fill(kv, &shape, 0, 1, 1, &position, x, x);
    assert_int_equal(kv_append_rows(kv, 0, 0, 3, NULL, x, 3 * kRow, x, 3 * kRow, NULL),
                     GGUFX_E_ARGUMENT);
    kv_fill(kv, &shape, 0, 2, 2, NULL, x, x);
    assert_int_equal(kv_append_rows(kv, 0, 0, 1, NULL, x, kRow, x, kRow, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(length_of(kv, 0), 3);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_appends_that_end_anywhere_store_the_same),
        cmocka_unit_test(test_copies_go_on_as_if_they_were_alone),
        cmocka_unit_test(test_failed_appends_leave_no_trace),
        cmocka_unit_test(test_limits_of_values_are_exact),
        cmocka_unit_test(test_batches_need_no_executor_and_take_equal_positions),
        cmocka_unit_test(test_positions_go_on_up_to_the_largest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
