/*
 * Tokens that a window has dropped: calls that would need them are refused and change nothing.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"
#include "ok.h"

enum { kDim = 16, kWindow = 16, kTokens = 300 };

/* Two layers, the first with a window; n0 and n1 tokens were appended to them one by one. */
static ggufx_kv *filled(const ggufx_runtime *rt, size_t n0, size_t n1) {
    const ggufx_kv_layer_options layers[2] = {kv_window(kWindow, 0), kv_window(0, 0)};
    ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_Q8_0, GGUFX_TYPE_F16);
    shape.n_layers = shape.n_layer_options = shape.n_sequences = 2;
    shape.layers = layers;
    shape.rope_style = GGUFX_ROPE_INTERLEAVED;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random((n0 + n1) * kDim, 1);
    for (uint32_t layer = 0; layer < 2; layer++)
        for (size_t i = 0; i < (layer ? n1 : n0); i++)
            OK(kv_append_rows(kv, layer, 0, 1, NULL, x + i * kDim, kDim, x + i * kDim, kDim,
                              ok_error()));
    free(x);
    return kv;
}

static void assert_unchanged(const ggufx_kv *kv, const kv_bytes *before) {
    kv_bytes now = kv_saved(kv, 0);
    assert_int_equal(now.n, before->n);
    assert_memory_equal(now.data, before->data, now.n);
    free(now.data);
}

static void test_rollback_after_a_window_is_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, kTokens, 5);
    kv_bytes before = kv_saved(kv, 0);
    ggufx_error error;
    assert_int_equal(ggufx_kv_rollback(kv, 0, &error), GGUFX_E_STATE);
    assert_int_equal(error.index, 0);
    assert_non_null(strstr(error.message, "roll back to 5 tokens"));
    assert_unchanged(kv, &before);
    OK(ggufx_kv_truncate(kv, 0, 0, ok_error()));
    ggufx_kv_destroy(kv);
    kv = filled(rt, kTokens, kTokens - 1); /* one append that the other layer lacks */
    OK(ggufx_kv_rollback(kv, 0, ok_error()));
    uint64_t length = 0;
    OK(ggufx_kv_length(&length, kv, 0, ok_error()));
    assert_int_equal(length, kTokens - 1);
    ggufx_kv_destroy(kv);
    free(before.data);
    ggufx_runtime_destroy(rt);
}

static void test_shifts_keep_what_is_held_after_dropped_tokens(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, kTokens, kTokens);
    kv_bytes before = kv_saved(kv, 0);
    /* 260 were dropped: the held tokens would move before them */
    assert_int_equal(ggufx_kv_shift(kv, 0, 260, kv_rest(kv, 0, 260), -100, NULL), GGUFX_E_ARGUMENT);
    /* the dropped tokens alone would move after the held ones */
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 260, 100, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 300, INT32_MAX - 298, NULL), GGUFX_E_ARGUMENT);
    assert_unchanged(kv, &before);
    OK(ggufx_kv_shift(kv, 0, 0, 300, 100, ok_error()));
    OK(ggufx_kv_shift(kv, 0, 0, 300, -100, ok_error()));
    assert_unchanged(kv, &before);
    free(before.data);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

/* Ranges that start after the last dropped token, and empty ones, contain none of them. */
static void test_ranges_beside_what_was_dropped_are_as_any_other(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, kTokens, kTokens);
    kv_bytes before = kv_saved(kv, 0); /* 260 were dropped */
    OK(ggufx_kv_remove(kv, 0, 0, 0, ok_error()));
    OK(ggufx_kv_shift(kv, 0, 50, 0, 7, ok_error()));
    assert_unchanged(kv, &before);
    assert_int_equal(ggufx_kv_remove(kv, 0, 0, 1, NULL), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_remove(kv, 0, 0, 259, NULL), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_remove(kv, 0, 259, 41, NULL), GGUFX_E_STATE);
    assert_unchanged(kv, &before);
    OK(ggufx_kv_remove(kv, 0, 298, 2, ok_error()));
    uint64_t length = 0;
    OK(ggufx_kv_length(&length, kv, 0, ok_error()));
    assert_int_equal(length, kTokens - 2);
    free(before.data);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

static void test_copies_that_would_need_dropped_tokens_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, kTokens, kTokens);
    kv_bytes before = kv_saved(kv, GGUFX_ALL_SEQUENCES);
    ggufx_error error;
    /* 260 were dropped: the token at 275 is the first that sees none of them */
    const uint64_t ends[] = {260, 261, 273, 274};
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ggufx_kv_copy(kv, 0, 1, 0, ends[i], &error), GGUFX_E_STATE);
        assert_int_equal(error.index, 0);
        kv_bytes now = kv_saved(kv, GGUFX_ALL_SEQUENCES);
        assert_int_equal(now.n, before.n);
        assert_memory_equal(now.data, before.data, now.n);
        free(now.data);
    }
    OK(ggufx_kv_copy(kv, 0, 1, 0, 275, ok_error()));
    free(before.data);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

static ggufx_status attend_at(const ggufx_kv *kv, uint32_t layer, size_t n,
                              const int32_t *positions, const ggufx_attend_options *options,
                              ggufx_error *error) {
    float q[8 * kDim], out[8 * kDim];
    for (size_t i = 0; i < 8 * kDim; i++) q[i] = 0.25f;
    return kv_attend_rows(out, n * kDim, NULL, 0, kv, layer, 0, q, n * kDim, n, positions, options,
                          error);
}

static void test_queries_that_would_see_dropped_tokens_are_refused(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, kTokens, kTokens);
    ggufx_error error;
    const int32_t seen[] = {275, 280, 299, 1000}, hidden[] = {280, 274};
    assert_int_equal(attend_at(kv, 0, 4, seen, NULL, &error), GGUFX_OK);
    assert_int_equal(attend_at(kv, 0, 2, hidden, NULL, &error), GGUFX_E_STATE);
    assert_int_equal(error.index, 1);
    assert_non_null(strstr(error.message, "position 274 sees tokens from position 259 on"));
    for (int32_t p = 0; p < 275; p += 5)
        assert_int_equal(attend_at(kv, 0, 1, &p, NULL, &error), GGUFX_E_STATE);
    assert_int_equal(attend_at(kv, 1, 2, hidden, NULL, &error), GGUFX_OK); /* has no window */
    ggufx_attend_options options = {.struct_size = sizeof options};
    options.window = 15; /* a smaller one sees one position less */
    assert_int_equal(attend_at(kv, 0, 2, hidden, &options, &error), GGUFX_OK);
    options.window = 17; /* a larger one is limited to the layer's */
    assert_int_equal(attend_at(kv, 0, 2, seen, &options, &error), GGUFX_OK);
    options.flags = GGUFX_ATTEND_ALL;
    assert_int_equal(attend_at(kv, 0, 1, seen, &options, &error), GGUFX_E_STATE);
    assert_int_equal(attend_at(kv, 1, 1, seen, &options, &error), GGUFX_OK);
    /* the last tokens: 40 are held, of which 25 see no dropped one */
    float *q = kv_random(301 * kDim, 1), *out = kv_random(301 * kDim, 2);
    for (size_t n = 1; n <= 301; n++)
        assert_int_equal(
            kv_attend_rows(out, n * kDim, NULL, 0, kv, 0, 0, q, n * kDim, n, NULL, NULL, NULL),
            n <= 25        ? GGUFX_OK
            : n <= kTokens ? GGUFX_E_STATE
                           : GGUFX_E_ARGUMENT);
    const uint32_t sequences[] = {0, 0};
    assert_int_equal(kv_attend_batch(out, 2 * kDim, NULL, 0, kv, 0, sequences, q, 2 * kDim, 2,
                                     hidden, NULL, &error),
                     GGUFX_E_STATE);
    assert_int_equal(error.index, 1);
    OK(kv_attend_batch(out, 2 * kDim, NULL, 0, kv, 0, sequences, q, 2 * kDim, 2, seen, NULL,
                       ok_error()));
    free(q);
    free(out);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

/* Every query of a prompt works, for any size of appends. The bits equal those of a layer without a
 * window, with the window as an option of the call. */
static void test_queries_of_the_tokens_of_an_append_are_answered(void **state) {
    (void)state;
    static const size_t steps[] = {1, 7, 64, 100, 300};
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kTokens * kDim, 1), *out = kv_random(kTokens * kDim, 2);
    float *want = kv_random(kTokens * kDim, 3);
    ggufx_attend_options options = {.struct_size = sizeof options};
    options.window = kWindow;
    for (size_t s = 0; s < sizeof steps / sizeof *steps; s++) {
        const ggufx_kv_layer_options layers[2] = {kv_window(kWindow, 0), kv_window(0, 0)};
        ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
        shape.n_layers = shape.n_layer_options = 2;
        shape.layers = layers;
        ggufx_kv *kv = kv_make(rt, &shape);
        for (size_t i = 0; i < kTokens; i += steps[s]) {
            const size_t n = kTokens - i < steps[s] ? kTokens - i : steps[s];
            for (uint32_t layer = 0; layer < 2; layer++) {
                float *to = (layer ? want : out) + i * kDim;
                OK(kv_append_rows(kv, layer, 0, n, NULL, x + i * kDim, n * kDim, x + i * kDim,
                                  n * kDim, ok_error()));
                OK(kv_attend_rows(to, n * kDim, NULL, 0, kv, layer, 0, x + i * kDim, n * kDim, n,
                                  NULL, &options, ok_error()));
            }
        }
        assert_memory_equal(out, want, kTokens * kDim * sizeof *out);
        ggufx_kv_destroy(kv);
    }
    free(x);
    free(out);
    free(want);
    ggufx_runtime_destroy(rt);
}

static void test_negative_positions_are_refused_everywhere(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv *kv = filled(rt, 0, 0);
    float x[2 * kDim] = {0};
    ggufx_error error;
    const int32_t negative[] = {-1, 5}, far[] = {INT32_MIN, 0}, good[] = {0, 5};
    const uint32_t sequences[] = {1, 1};
    for (size_t i = 0; i < 2; i++) {
        const int32_t *at = i ? far : negative;
        assert_int_equal(kv_append_rows(kv, 0, 0, 2, at, x, 2 * kDim, x, 2 * kDim, &error),
                         GGUFX_E_ARGUMENT);
        assert_int_equal(error.index, 0);
        assert_non_null(strstr(error.message, "must not be negative"));
        assert_int_equal(kv_append_batch(kv, 0, 2, sequences, at, x, 2 * kDim, x, 2 * kDim, &error),
                         GGUFX_E_ARGUMENT);
        assert_non_null(strstr(error.message, i ? "-2147483648" : "is -1"));
    }
    for (uint32_t layer = 0; layer < 2; layer++)
        OK(kv_append_rows(kv, layer, 0, 2, good, x, 2 * kDim, x, 2 * kDim, ok_error()));
    assert_int_equal(attend_at(kv, 0, 2, negative, NULL, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(error.index, 0);
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 1, -1, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 1, 1, -5, &error), GGUFX_OK); /* to another's position */
    assert_int_equal(ggufx_kv_shift(kv, 0, 1, 1, INT32_MAX, &error), GGUFX_OK);
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 2, 1, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 2, 0, 1, &error), GGUFX_OK); /* no token */
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

/* "Keeps the memory": the same number of tokens needs no allocation, while the window has dropped
 * nothing. */
static void test_a_truncated_window_keeps_its_memory(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        const ggufx_kv_layer_options layer = kv_window(2 * kTokens, 0);
        ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, types[t], types[t]);
        kv_memory memory = {0, 0, 0};
        ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
        shape.layers = &layer;
        shape.n_layer_options = 1;
        shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
        ggufx_kv *kv = kv_make(rt, &shape);
        float *x = kv_random(kTokens * kDim, 1);
        for (int again = 0; again < 2; again++) {
            memory.requests = 0;
            for (size_t i = 0; i < kTokens; i++)
                OK(kv_append_rows(kv, 0, 0, 1, NULL, x + i * kDim, kDim, x + i * kDim, kDim,
                                  ok_error()));
            assert_true(again ? memory.requests == 0 : memory.requests >= kTokens / 64);
            OK(ggufx_kv_truncate(kv, 0, 0, ok_error()));
        }
        free(x);
        ggufx_kv_destroy(kv);
        ggufx_runtime_destroy(rt);
        assert_int_equal(memory.live, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queries_that_would_see_dropped_tokens_are_refused),
        cmocka_unit_test(test_queries_of_the_tokens_of_an_append_are_answered),
        cmocka_unit_test(test_negative_positions_are_refused_everywhere),
        cmocka_unit_test(test_rollback_after_a_window_is_refused),
        cmocka_unit_test(test_ranges_beside_what_was_dropped_are_as_any_other),
        cmocka_unit_test(test_copies_that_would_need_dropped_tokens_are_refused),
        cmocka_unit_test(test_shifts_keep_what_is_held_after_dropped_tokens),
        cmocka_unit_test(test_a_truncated_window_keeps_its_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
