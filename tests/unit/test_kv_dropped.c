/*
 * Tokens that a window has dropped: calls that would need them say so and change nothing.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"

enum { kDim = 16, kWindow = 16, kTokens = 300 };

/* Two layers, the first with a window; n0 and n1 tokens were appended to them one by one. */
static ggufx_kv *filled(const ggufx_runtime *rt, size_t n0, size_t n1) {
    const ggufx_kv_layer layers[2] = {{0, 0, kWindow, 0}, {0, 0, 0, 0}};
    ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_KV_Q8_0, GGUFX_KV_F16);
    shape.n_layers = shape.n_layer_options = shape.n_sequences = 2;
    shape.layers = layers;
    shape.rope_style = GGUFX_KV_ROPE_PAIRS;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random((n0 + n1) * kDim, 1);
    for (uint32_t layer = 0; layer < 2; layer++)
        for (size_t i = 0; i < (layer ? n1 : n0); i++)
            assert_int_equal(ggufx_kv_append(kv, layer, 0, 1, NULL, x + i * kDim, kDim,
                                             x + i * kDim, kDim, NULL),
                             GGUFX_OK);
    free(x);
    return kv;
}

static void assert_unchanged(const ggufx_kv *kv, const kv_bytes *before) {
    kv_bytes now = kv_saved(kv, 0);
    assert_int_equal(now.n, before->n);
    assert_memory_equal(now.data, before->data, now.n);
    free(now.data);
}

static void test_rollback_behind_a_window_is_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, kTokens, 5);
    kv_bytes before = kv_saved(kv, 0);
    ggufx_error error;
    assert_int_equal(ggufx_kv_rollback(kv, 0, &error), GGUFX_E_STATE);
    assert_int_equal(error.index, 0);
    assert_non_null(strstr(error.message, "roll back to 5 tokens"));
    assert_unchanged(kv, &before);
    assert_int_equal(ggufx_kv_truncate(kv, 0, 0, NULL), GGUFX_OK);
    ggufx_kv_destroy(kv);
    kv = filled(rt, kTokens, kTokens - 1); /* one append that the other layer has not had */
    assert_int_equal(ggufx_kv_rollback(kv, 0, NULL), GGUFX_OK);
    uint64_t length = 0;
    assert_int_equal(ggufx_kv_length(&length, kv, 0, NULL), GGUFX_OK);
    assert_int_equal(length, kTokens - 1);
    ggufx_kv_destroy(kv);
    free(before.data);
    ggufx_runtime_destroy(rt);
}

static void test_shifts_keep_what_is_held_behind_what_was_dropped(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, kTokens, kTokens);
    kv_bytes before = kv_saved(kv, 0);
    /* 260 were dropped: these are held, and would come before them */
    assert_int_equal(ggufx_kv_shift(kv, 0, 260, INT32_MAX, -100, NULL), GGUFX_E_ARGUMENT);
    /* those dropped alone would come behind those that are held */
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 260, 100, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 300, INT32_MAX - 298, NULL), GGUFX_E_ARGUMENT);
    assert_unchanged(kv, &before);
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 300, 100, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 400, -100, NULL), GGUFX_OK);
    assert_unchanged(kv, &before);
    free(before.data);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

static void test_copies_that_would_need_dropped_tokens_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, kTokens, kTokens);
    kv_bytes before = kv_saved(kv, GGUFX_KV_ALL_SEQUENCES);
    ggufx_error error;
    /* 260 were dropped: the token at 275 is the first that sees none of them */
    const int32_t ends[] = {260, 261, 273, 274};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ggufx_kv_copy(kv, 0, 1, 0, ends[i], &error), GGUFX_E_STATE);
        assert_int_equal(error.index, 0);
        kv_bytes now = kv_saved(kv, GGUFX_KV_ALL_SEQUENCES);
        assert_int_equal(now.n, before.n);
        assert_memory_equal(now.data, before.data, now.n);
        free(now.data);
    }
    assert_int_equal(ggufx_kv_copy(kv, 0, 1, 0, 275, NULL), GGUFX_OK);
    free(before.data);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rollback_behind_a_window_is_refused),
        cmocka_unit_test(test_copies_that_would_need_dropped_tokens_are_refused),
        cmocka_unit_test(test_shifts_keep_what_is_held_behind_what_was_dropped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
