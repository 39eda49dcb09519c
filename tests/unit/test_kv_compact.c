/*
 * ggufx_kv_compact: partial pages are merged; full and shared pages stay.
 * SPDX-License-Identifier: MIT
 */
#include "kv_rebuild.h"
#include "ok.h"

#include <math.h>

enum { kTokens = 64 * 8 };

/* Every third token of pages 1 to 4 is removed, and one more; the other pages are full. No sinks:
 * pages begin at 0, 64, ... */
static ggufx_kv *holed(const ggufx_runtime *rt, uint32_t type, uint32_t n_sequences) {
    ggufx_kv_options shape = shape_of(type, type, n_sequences);
    shape.n_layers = 2;
    shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(kTokens * kRow, 1);
    for (uint32_t layer = 0; layer < 2; layer++)
        OK(kv_append_rows(kv, layer, 0, kTokens, NULL, x, kTokens * kRow, x, kTokens * kRow,
                          ok_error()));
    OK(ggufx_kv_commit(kv, 0, ok_error()));
    for (uint64_t i = 0; 66 + 3 * i < 64 * 5; i++)
        OK(ggufx_kv_remove(kv, 0, 66 + 2 * i, 1, ok_error()));
    OK(ggufx_kv_remove(kv, 0, 66, 1, ok_error())); /* no pairs across pages */
    free(x);
    return kv;
}

static ggufx_status compact(ggufx_kv *kv, const ggufx_progress *progress, ggufx_error *error) {
    return ggufx_kv_compact(kv, GGUFX_ALL_SEQUENCES, progress, error);
}

static const uint32_t kTypes[] = {GGUFX_TYPE_F32,  GGUFX_TYPE_F16, GGUFX_TYPE_BF16,
                                  GGUFX_TYPE_Q8_0, GGUFX_TYPE_GX4, GGUFX_TYPE_Q5_1};

static void test_parts_become_as_few_pages_as_they_fill(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    static float k[2][kTokens * kRow], v[2][kTokens * kRow];
    static int32_t positions[2][kTokens];
    for (size_t t = 0; t < sizeof kTypes / sizeof *kTypes; t++) {
        ggufx_kv *kv = holed(rt, kTypes[t], 1);
        const uint64_t n = length_of(kv, 0);
        assert_int_equal(n, kTokens - 86);
        read_all(kv, 0, 0, n, k[0], v[0]);
        OK(ggufx_kv_positions(positions[0], kv, 0, 0, n, ok_error()));
        const ggufx_kv_facts before = facts_of(kv);
        assert_int_equal(compact(kv, NULL, NULL), GGUFX_OK);
        const ggufx_kv_facts after = facts_of(kv);
        read_all(kv, 0, 0, n, k[1], v[1]);
        OK(ggufx_kv_positions(positions[1], kv, 0, 0, n, ok_error()));
        assert_memory_equal(positions[0], positions[1], n * sizeof **positions);
        /* 256 - 86 tokens of four pages fill three, in both layers */
        /* quantized: appends had left a spare page next to the page for new tokens */
        const uint64_t spare = before.n_plain_pages - after.n_plain_pages;
        assert_int_equal(after.n_pages + 2 + spare, before.n_pages);
        assert_int_equal(after.n_shared_pages, 0);
        const size_t first = 64, end = (size_t)n - 3 * 64; /* range of compacted tokens */
        for (size_t i = 0; i < n * kRow; i++) {
            const int touched = i >= first * kRow && i < end * kRow && t >= 3;
            const double most = touched ? 0.5 : 0;
            if (fabs((double)k[0][i] - (double)k[1][i]) > most ||
                fabs((double)v[0][i] - (double)v[1][i]) > most)
                fail_msg("type %u, value %zu", kTypes[t], i);
        }
        double error = 0, square = 0;
        for (size_t i = 0; i < n * kRow; i++) {
            error += ((double)k[0][i] - (double)k[1][i]) * ((double)k[0][i] - (double)k[1][i]);
            square += (double)k[0][i] * (double)k[0][i];
        }
        assert_true(error <= 0.01 * square);
        kv_bytes once = kv_saved(kv, 0); /* a second time: nothing to do */
        assert_int_equal(compact(kv, NULL, NULL), GGUFX_OK);
        kv_bytes twice = kv_saved(kv, 0);
        kv_assert_same(&once, &twice);
        free(once.data);
        free(twice.data);
        /* more tokens can be appended */
        float *x = kv_random(3 * kRow, 4);
        for (uint32_t layer = 0; layer < 2; layer++)
            OK(kv_append_rows(kv, layer, 0, 3, NULL, x, 3 * kRow, x, 3 * kRow, ok_error()));
        assert_int_equal(length_of(kv, 0), n + 3);
        free(x);
        ggufx_kv_destroy(kv);
    }
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

static void test_pages_of_other_sequences_and_other_shifts_stay(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    for (size_t t = 0; t < sizeof kTypes / sizeof *kTypes; t++) {
        ggufx_kv *kv = holed(rt, kTypes[t], 2);
        OK(ggufx_kv_copy(kv, 0, 1, 0, kv_rest(kv, 0, 0), ok_error()));
        kv_bytes held = kv_saved(kv, GGUFX_ALL_SEQUENCES);
        for (uint32_t s = 0; s < 2; s++) OK(ggufx_kv_compact(kv, s, NULL, ok_error()));
        kv_bytes now = kv_saved(kv, GGUFX_ALL_SEQUENCES);
        kv_assert_same(&held, &now);
        free(held.data);
        free(now.data);
        ggufx_kv_destroy(kv);

        /* three pages with ten tokens each, the second one shifted: none can be merged */
        kv = holed(rt, kTypes[t], 2);
        OK(ggufx_kv_truncate(kv, 0, 64, ok_error()));
        float *x = kv_random(192 * kRow, 2);
        for (uint32_t layer = 0; layer < 2; layer++)
            OK(kv_append_rows(kv, layer, 0, 192, NULL, x, 192 * kRow, x, 192 * kRow, ok_error()));
        OK(ggufx_kv_commit(kv, 0, ok_error()));
        for (uint64_t page = 1; page < 4; page++)
            OK(ggufx_kv_remove(kv, 0, 64 + page * 10, 54, ok_error()));
        OK(ggufx_kv_shift(kv, 0, 74, 10, 1, ok_error()));
        held = kv_saved(kv, 0);
        OK(ggufx_kv_compact(kv, 0, NULL, ok_error()));
        now = kv_saved(kv, 0);
        kv_assert_same(&held, &now);
        OK(ggufx_kv_shift(kv, 0, 74, 10, -1, ok_error()));
        const uint64_t pages = facts_of(kv).n_pages;
        OK(ggufx_kv_compact(kv, 0, NULL, ok_error())); /* now they can */
        /* the last page of a quantized type receives new tokens: two pages become one */
        const uint64_t fewer = kv_is_float(kTypes[t]) ? 4 : 2;
        assert_int_equal(facts_of(kv).n_pages, pages - fewer);
        free(held.data);
        free(now.data);
        free(x);
        ggufx_kv_destroy(kv);
    }
    ggufx_runtime_destroy(rt);
}

static void test_reserved_pages_stay_and_spare_ones_go(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0, 2);
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(300 * kRow, 2);
    kv_fill(kv, &shape, 0, 300, 300, NULL, x, x);
    OK(ggufx_kv_truncate(kv, 0, 40, ok_error()));
    OK(ggufx_kv_reserve(kv, 1, 300, ok_error()));
    const uint64_t pages = facts_of(kv).n_pages;
    OK(ggufx_kv_compact(kv, 1, NULL, ok_error()));
    assert_int_equal(facts_of(kv).n_pages, pages);
    OK(ggufx_kv_compact(kv, 0, NULL, ok_error()));
    assert_true(facts_of(kv).n_pages < pages - 2);
    ggufx_kv_destroy(kv);
    free(x);
    ggufx_runtime_destroy(rt);
}

static void test_a_call_that_fails_anywhere_changes_nothing(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    ggufx_error error;
    for (size_t t = 0; t < sizeof kTypes / sizeof *kTypes; t++)
        for (int polls = 0; polls < 2; polls++) {
            ggufx_kv *kv = holed(rt, kTypes[t], 2);
            assert_true(kv_fail_each(kv, &memory, compact, polls) >= 1);
            assert_int_equal(ggufx_kv_compact(kv, 2, NULL, &error), GGUFX_E_ARGUMENT);
            ggufx_kv_destroy(kv);
        }
    assert_int_equal(ggufx_kv_compact(NULL, 0, NULL, &error), GGUFX_E_ARGUMENT);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_become_as_few_pages_as_they_fill),
        cmocka_unit_test(test_pages_of_other_sequences_and_other_shifts_stay),
        cmocka_unit_test(test_reserved_pages_stay_and_spare_ones_go),
        cmocka_unit_test(test_a_call_that_fails_anywhere_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
