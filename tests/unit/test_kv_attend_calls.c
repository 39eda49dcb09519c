/*
 * Attention calls: the split of the work changes no bit; batches, cancelling, refused options.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"
#include "kv_naive.h"
#include "ok.h"

/* Returns a hash that must be the same on every instruction set and number of threads. */
static uint64_t hash_of(const ggufx_runtime *rt, size_t t, size_t n, size_t at_once) {
    const ggufx_kv_options shape = kv_shape(2, 10, 96, 64, kTypes[t], kTypes[(t + 1) % kTypeCount]);
    filled f = fill(rt, &shape);
    const size_t rows = n * shape.n_q_heads, n_out = rows * 64;
    float *q = kv_random(rows * 96, 9), *out = calloc(n_out, sizeof *out);
    float *lse = calloc(rows, sizeof *lse);
    assert_true(q && out && lse);
    int32_t at[64];
    for (size_t i = 0; i < n; i++) at[i] = (int32_t)(i * 37 % kTokens);
    for (size_t i = 0; i < n; i += at_once) {
        const size_t count = n - i < at_once ? n - i : at_once, first = i * shape.n_q_heads;
        kv_attend(out + first * 64, lse + first, f.kv, &shape, 0, q + first * 96, count, at + i, 0,
                  0);
    }
    const uint64_t hash = kv_hash(kv_hash(0xcbf29ce484222325u, out, n_out), lse, rows);
    free(q);
    free(out);
    free(lse);
    release(&f);
    return hash;
}

static void test_split_threads_and_instructions_do_not_change_bits(void **state) {
    (void)state;
    check_split(hash_of);
}

static void check_batch(const ggufx_runtime *rt, uint32_t kv_heads) {
    ggufx_kv_options shape = kv_shape(kv_heads, 6, 64, 64, GGUFX_TYPE_GX4, GGUFX_TYPE_Q4_1);
    shape.n_sequences = 3;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(700 * 128, 1), *q = kv_random(5 * 6 * 64, 2);
    static const size_t lengths[3] = {700, 70, 0};
    for (uint32_t i = 0; i < 3; i++) kv_fill(kv, &shape, i, lengths[i], 100, NULL, x, x);
    const uint32_t sequences[5] = {1, 0, 0, 2, 1}; /* one twice in a row */
    const int32_t positions[5] = {69, 300, 699, 10, 3};
    float batch[5 * 6 * 64], batch_lse[5 * 6], single[6 * 64], lse[6];
    OK(kv_attend_batch(batch, 5 * 6 * 64, batch_lse, 5 * 6, kv, 0, sequences, q, 5 * 6 * 64, 5,
                       positions, NULL, ok_error()));
    for (size_t i = 0; i < 5; i++) {
        kv_attend(single, lse, kv, &shape, sequences[i], q + i * 6 * 64, 1, positions + i, 0, 0);
        assert_memory_equal(single, batch + i * 6 * 64, sizeof single);
        assert_memory_equal(lse, batch_lse + i * 6, sizeof lse);
    }
    ggufx_error error; /* the last token of an empty sequence */
    assert_int_equal(kv_attend_batch(batch, 4 * 6 * 64, NULL, 0, kv, 0, sequences, q, 4 * 6 * 64, 4,
                                     NULL, NULL, &error),
                     GGUFX_E_ARGUMENT);
    const uint32_t wrong[1] = {3};
    assert_int_equal(kv_attend_batch(batch, 6 * 64, NULL, 0, kv, 0, wrong, q, 6 * 64, 1, positions,
                                     NULL, &error),
                     GGUFX_E_ARGUMENT);
    ggufx_kv_destroy(kv);
    free(x);
    free(q);
}

static void test_a_batch_gives_the_bits_of_single_calls(void **state) {
    check_batch(*state, 2);
    check_batch(*state, 1); /* the heads of one sequence follow those of another */
}

/* Queries rotated for shifted pages are cached from page to page, not between sets of queries. Here
 * only the first of each 32 queries meets such pages. */
static void test_a_large_batch_over_shifted_pages_gives_the_bits_of_single_calls(void **state) {
    (void)state;
    enum { kN = 96, kDim = 64, kLong = 200 };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0);
    shape.n_sequences = 2;
    shape.rope_style = GGUFX_ROPE_INTERLEAVED;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(kLong * kDim, 1), *q = kv_random(kN * kDim, 2);
    float *out = calloc(kN * kDim, sizeof *out), one[kDim];
    assert_non_null(out);
    for (uint32_t i = 0; i < 2; i++) kv_fill(kv, &shape, i, kLong, 100, NULL, x, x);
    OK(ggufx_kv_shift(kv, 0, 128, kLong - 128, 5, ok_error()));
    uint32_t sequences[kN];
    for (uint32_t i = 0; i < kN; i++) sequences[i] = i % 32 != 0;
    OK(kv_attend_batch(out, kN * kDim, NULL, 0, kv, 0, sequences, q, kN * kDim, kN, NULL, NULL,
                       ok_error()));
    for (size_t i = 0; i < kN; i++) {
        kv_attend(one, NULL, kv, &shape, sequences[i], q + i * kDim, 1, NULL, 0, 0);
        assert_memory_equal(one, out + i * kDim, sizeof one);
    }
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
    free(q);
    free(out);
}

/* A layer's window drops pages, a call's window hides them: the visible tokens are the same. */
static void test_dropped_pages_change_no_bit(void **state) {
    ggufx_runtime *rt = *state;
    enum { kDim = 64, kWindow = 700, kLong = 2100 };
    for (size_t t = 0; t < kTypeCount; t += 3) {
        const ggufx_kv_options whole = kv_shape(1, 3, kDim, kDim, kTypes[t], kTypes[(t + 2) % 17]);
        const ggufx_kv_layer_options layer = kv_window(kWindow, 0);
        ggufx_kv_options windowed = whole;
        windowed.layers = &layer;
        windowed.n_layer_options = 1;
        ggufx_kv *a = kv_make(rt, &whole), *b = kv_make(rt, &windowed);
        float *x = kv_random(kLong * kDim, 1), *q = kv_random(3 * kDim, 2);
        float want[3 * kDim], got[3 * kDim], lse[2][3];
        ggufx_attend_options options = {.struct_size = sizeof options};
        options.window = kWindow;
        for (size_t n = 0; n < kLong; n += 70) {
            const float *now = x + n * kDim;
            for (int i = 0; i < 2; i++)
                OK(kv_append_rows(i ? b : a, 0, 0, 70, NULL, now, 70 * kDim, now, 70 * kDim,
                                  ok_error()));
            OK(kv_attend_rows(want, 3 * kDim, lse[0], 3, a, 0, 0, q, 3 * kDim, 1, NULL, &options,
                              ok_error()));
            OK(kv_attend_rows(got, 3 * kDim, lse[1], 3, b, 0, 0, q, 3 * kDim, 1, NULL, NULL,
                              ok_error()));
            assert_memory_equal(want, got, sizeof want);
            assert_memory_equal(lse[0], lse[1], sizeof lse[0]);
        }
        float k[kDim]; /* the first token was dropped there */
        assert_int_equal(kv_read_rows(k, kDim, NULL, 0, b, 0, 0, 0, 1, NULL), GGUFX_E_ARGUMENT);
        ggufx_kv_destroy(a);
        ggufx_kv_destroy(b);
        free(x);
        free(q);
    }
}

/* Chunks keep their boundaries in a copy, after a load, and after a shift forth and back. */
static void test_the_way_pages_came_changes_no_bit(void **state) {
    ggufx_runtime *rt = *state;
    enum { kDim = 64, kLong = 1200, kOut = 3 * kDim };
    for (size_t t = 0; t < kTypeCount; t += 4) {
        ggufx_kv_options shape = kv_shape(1, 3, kDim, kDim, kTypes[t], kTypes[(t + 2) % 17]);
        shape.n_sequences = 3;
        shape.rope_style = GGUFX_ROPE_NEOX;
        ggufx_kv *kv = kv_make(rt, &shape);
        float *x = kv_random(kLong * kDim, 1), *q = kv_random(kOut, 2);
        float want[kOut], got[kOut], lse[2][3];
        kv_fill(kv, &shape, 0, kLong, 170, NULL, x, x);
        kv_attend(want, lse[0], kv, &shape, 0, q, 1, NULL, 0, 0);
        OK(ggufx_kv_copy(kv, 0, 1, 0, kv_rest(kv, 0, 0), ok_error()));
        kv_bytes saved = kv_saved(kv, 0);
        OK(ggufx_kv_load(kv, 2, kv_bytes_read, &saved, ok_error()));
        OK(ggufx_kv_shift(kv, 0, 700, kv_rest(kv, 0, 700), 3, ok_error()));
        OK(ggufx_kv_shift(kv, 0, 700, kv_rest(kv, 0, 700), -3, ok_error()));
        for (uint32_t s = 0; s < 3; s++) {
            kv_attend(got, lse[1], kv, &shape, s, q, 1, NULL, 0, 0);
            assert_memory_equal(want, got, sizeof want);
            assert_memory_equal(lse[0], lse[1], sizeof lse[0]);
        }
        free(saved.data);
        ggufx_kv_destroy(kv);
        free(x);
        free(q);
    }
}

static int32_t stop_at(void *user, uint64_t done, uint64_t total) {
    (void)done;
    (void)total;
    return --*(int *)user == 0;
}

static void test_an_attention_is_cancelled_at_any_poll(void **state) {
    enum { kLong = 12000 }; /* several rounds */
    ggufx_runtime *rt = *state;
    const ggufx_kv_options shape = kv_shape(2, 8, 128, 128, GGUFX_TYPE_GX3, GGUFX_TYPE_F16);
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(kLong * 256, 1), *q = kv_random(8 * 128, 2), want[8 * 128], out[8 * 128];
    kv_fill(kv, &shape, 0, kLong, kLong, NULL, x, x);
    int left = 0;
    const ggufx_progress progress = {.user = &left, .report = stop_at};
    ggufx_attend_options options = {.struct_size = sizeof options};
    options.progress = &progress;
    kv_attend(want, NULL, kv, &shape, 0, q, 1, NULL, 0, 0);
    int polls = 0;
    for (ggufx_status status = GGUFX_E_CANCELLED; status != GGUFX_OK;) {
        left = ++polls;
        ggufx_error error;
        status =
            kv_attend_rows(out, 8 * 128, NULL, 0, kv, 0, 0, q, 8 * 128, 1, NULL, &options, &error);
        if (status != GGUFX_OK) assert_int_equal(status, GGUFX_E_CANCELLED);
        if (status != GGUFX_OK) assert_non_null(strstr(error.message, "progress"));
    }
    assert_true(polls > 2); /* several polls, and the call that completed */
    assert_memory_equal(out, want, sizeof out);
    ggufx_kv_destroy(kv);
    free(x);
    free(q);
}

static void test_options_that_mean_nothing_are_refused(void **state) {
    ggufx_runtime *rt = *state;
    const ggufx_kv_options shape = kv_shape(1, 2, 8, 8, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    ggufx_kv *kv = kv_make(rt, &shape);
    float x[16] = {1.0f}, out[16];
    kv_fill(kv, &shape, 0, 2, 2, NULL, x, x);
    const float bad[2] = {0.0f, NAN}, good[2] = {1.0f, 2.0f};
    for (int i = 0; i < 7; i++) {
        ggufx_attend_options o = {.struct_size = sizeof o};
        if (i == 1) o.softcap = -1.0f;
        if (i == 2) o.softcap = INFINITY;
        if (i == 3 || i == 4) o.alibi_slopes = i == 3 ? bad : good;
        if (i == 3 || i == 4) o.n_alibi_slopes = i == 3 ? 2 : 1;
        if (i == 5) o.n_alibi_slopes = 2;
        if (i == 6) o.sink_logits = bad;
        if (i == 6) o.n_sink_logits = 2;
        ggufx_error error;
        assert_int_equal(kv_attend_rows(out, 16, NULL, 0, kv, 0, 0, x, 16, 1, NULL, &o, &error),
                         i ? GGUFX_E_ARGUMENT : GGUFX_OK);
    }
    ggufx_kv_destroy(kv);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_split_threads_and_instructions_do_not_change_bits),
        cmocka_unit_test(test_dropped_pages_change_no_bit),
        cmocka_unit_test(test_the_way_pages_came_changes_no_bit),
        cmocka_unit_test(test_a_batch_gives_the_bits_of_single_calls),
        cmocka_unit_test(test_a_large_batch_over_shifted_pages_gives_the_bits_of_single_calls),
        cmocka_unit_test(test_an_attention_is_cancelled_at_any_poll),
        cmocka_unit_test(test_options_that_mean_nothing_are_refused),
    };
    return cmocka_run_group_tests(tests, kv_set_up, kv_tear_down);
}
