/*
 * Sequences of a KV cache: copies that share pages, scores, shifts, windows.
 * SPDX-License-Identifier: MIT
 */
#include "kv_small.h"
#include "ok.h"

#include <math.h>

static void test_copies_share_pages_until_one_of_them_writes(void **state) {
    (void)state;
    enum { kTokens = 150 };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX3, GGUFX_TYPE_Q4_0, 3);
    float *k = kv_random(2 * kTokens * kRow, 1), *v = kv_random(2 * kTokens * kRow, 2);
    float *want = malloc(2 * 210 * kRow * 4), *back = malloc(2 * 210 * kRow * 4);
    assert_true(want && back);
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, k, v);
    read_all(kv, 0, 0, kTokens, want, want + kTokens * kRow);
    const ggufx_kv_facts before = facts_of(kv);
    assert_int_equal(before.n_shared_pages, 0);
    OK(ggufx_kv_copy(kv, 0, 1, 0, kv_rest(kv, 0, 0), ok_error()));
    assert_int_equal(facts_of(kv).page_bytes, before.page_bytes);
    assert_int_equal(facts_of(kv).n_shared_pages, 2 * 4); /* sinks, two quantized, the last */
    assert_int_equal(length_of(kv, 1), kTokens);
    ggufx_error error;
    assert_int_equal(ggufx_kv_copy(kv, 0, 1, 0, 5, &error), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_copy(kv, 0, 0, 0, 5, &error), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_copy(kv, 0, 3, 0, 5, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_copy(kv, 0, 2, 5, kTokens - 4, &error), GGUFX_E_ARGUMENT);
    /* both continue differently, also past the end of the shared page */
    kv_fill(kv, &shape, 1, 60, 9, NULL, k + kTokens * kRow, v + kTokens * kRow);
    kv_fill(kv, &shape, 0, 60, 60, NULL, k, v);
    read_all(kv, 1, 0, kTokens, back, back + kTokens * kRow);
    assert_memory_equal(want, back, 132 * kRow * 4); /* pages quantized before the copy */
    ggufx_kv *alone = kv_make(rt, &shape);
    kv_fill(alone, &shape, 0, kTokens, kTokens, NULL, k, v);
    kv_fill(alone, &shape, 0, 60, 60, NULL, k + kTokens * kRow, v + kTokens * kRow);
    read_all(alone, 0, 0, 210, want, want + 210 * kRow);
    read_all(kv, 1, 0, 210, back, back + 210 * kRow);
    assert_memory_equal(want, back, 2 * 210 * kRow * 4);
    OK(ggufx_kv_copy(kv, 1, 2, 70, 10, ok_error())); /* a part of a page */
    assert_int_equal(length_of(kv, 2), 10);
    read_all(kv, 2, 0, 10, back, back + 10 * kRow);
    assert_memory_equal(want + 70 * kRow, back, 10 * kRow * 4);
    OK(ggufx_kv_keep(kv, 2, ok_error()));
    assert_int_equal(length_of(kv, 0), 0);
    assert_int_equal(facts_of(kv).n_pages, 1);
    read_all(kv, 2, 0, 10, back, back + 10 * kRow);
    assert_memory_equal(want + 70 * kRow, back, 10 * kRow * 4);
    ggufx_kv_destroy(kv);
    ggufx_kv_destroy(alone);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
    free(want);
    free(back);
}

/* Scores are products with the values read back; shifting forth and back restores them. */
static void test_scores_are_products_with_the_keys_at_their_positions(void **state) {
    (void)state;
    enum { kTokens = 90, kHeadsQ = 2 * kHeads };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX3, GGUFX_TYPE_F16, 1);
    float *x = kv_random(kTokens * kRow, 1), *q = kv_random(2 * kHeadsQ * kDim, 3);
    static float scores[3][2 * kHeadsQ * kTokens], k[kTokens * kRow], v[kTokens * kRow];
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, x, x);
    for (int pass = 0; pass < 3; pass++) {
        if (pass == 1) OK(ggufx_kv_shift(kv, 0, 30, kTokens - 30, 7, ok_error()));
        if (pass == 2) OK(ggufx_kv_shift(kv, 0, 30, kTokens - 30, -7, ok_error()));
        OK(kv_score_rows(scores[pass], 2 * kHeadsQ * kTokens, kv, 0, 0, q, 2 * kHeadsQ * kDim, 2,
                         pass == 1 ? 2.0f : 0, ok_error()));
        read_all(kv, 0, 0, kTokens, k, v);
        for (size_t i = 0; i < 2 * kHeadsQ * kTokens; i++) {
            const size_t row = i / kTokens, token = i % kTokens, head = row % kHeadsQ / 2;
            double want = 0;
            for (size_t c = 0; c < kDim; c++)
                want += (double)q[row * kDim + c] * (double)k[token * kRow + head * kDim + c];
            want *= pass == 1 ? 2 : 1 / sqrt(kDim);
            if (!(fabs(want - (double)scores[pass][i]) <= 2e-5))
                fail_msg("pass %d score %zu: %g, want %g", pass, i, (double)scores[pass][i], want);
        }
    }
    assert_memory_equal(scores[0], scores[2], sizeof scores[0]);
    ggufx_error error;
    assert_int_equal(kv_score_rows(scores[0], 5, kv, 0, 0, q, kHeadsQ * kDim, 1, 0, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(kv_score_rows(scores[0], kHeadsQ * kTokens, kv, 0, 0, q, 7, 1, 0, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(
        kv_score_rows(scores[0], kHeadsQ * kTokens, kv, 0, 0, q, kHeadsQ * kDim, 1, NAN, &error),
        GGUFX_E_ARGUMENT);
    assert_int_equal(
        kv_score_rows(scores[0], kHeadsQ * kTokens, kv, 1, 0, q, kHeadsQ * kDim, 1, 0, &error),
        GGUFX_E_ARGUMENT);
    assert_int_equal(
        kv_score_rows(NULL, kHeadsQ * kTokens, kv, 0, 0, q, kHeadsQ * kDim, 1, 0, &error),
        GGUFX_E_ARGUMENT);
    assert_int_equal(kv_score_rows(scores[0], 0, NULL, 0, 0, q, 0, 0, 0, &error), GGUFX_E_ARGUMENT);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
    free(q);
}

/* A query that sees all tokens. */
static void attend_all(const ggufx_kv *kv, const ggufx_kv_options *shape, const float *q,
                       float *out, float *lse) {
    const int32_t position = 100000;
    kv_attend(out, lse, kv, shape, 0, q, 1, &position, 0, 0);
}

static void test_shifting_there_and_back_restores_every_bit(void **state) {
    (void)state;
    enum { kTokens = 200 };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *k = kv_random(kTokens * kRow, 1), *v = kv_random(kTokens * kRow, 2);
    float *q = kv_random(2 * kRow, 3), out[3][2 * kRow], lse[3][2 * kHeads];
    float *a = malloc(kTokens * kRow * 4), *b = malloc(kTokens * kRow * 4);
    assert_true(a && b);
    const ggufx_kv_options shape = shape_of(GGUFX_TYPE_GX4, GGUFX_TYPE_Q8_0, 1);
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, k, v);
    attend_all(kv, &shape, q, out[0], lse[0]);
    read_all(kv, 0, 0, kTokens, a, b);
    assert_int_equal(ggufx_kv_shift(kv, 0, 100, kv_rest(kv, 0, 100), -20, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 100, kv_rest(kv, 0, 100), INT32_MAX, NULL),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 1, 100, kv_rest(kv, 1, 100), 1, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 100, kTokens - 99, 1, NULL), GGUFX_E_ARGUMENT);
    OK(ggufx_kv_shift(kv, 0, 100, kv_rest(kv, 0, 100), 37, ok_error()));
    int32_t positions[2];
    OK(ggufx_kv_positions(positions, kv, 0, 99, 2, ok_error()));
    assert_true(positions[0] == 99 && positions[1] == 137);
    attend_all(kv, &shape, q, out[1], lse[1]);
    assert_true(memcmp(out[0], out[1], sizeof out[0]) != 0);
    /* reads return the shifted keys */
    float *keys = malloc(kTokens * kRow * 4);
    read_all(kv, 0, 0, kTokens, keys, b);
    assert_memory_equal(keys, a, 100 * kRow * 4);
    assert_true(memcmp(keys + 100 * kRow, a + 100 * kRow, 100 * kRow * 4) != 0);
    for (size_t i = 100; i < kTokens; i++) /* a rotation by 37 positions, halves of 16 pairs */
        for (size_t h = 0; h < kHeads; h++)
            for (size_t c = 0; c < kDim / 2; c++) {
                const float *x = a + i * kRow + h * kDim, *y = keys + i * kRow + h * kDim;
                const double turn = 37 * pow(10000, -2.0 * (double)c / kDim);
                const double want = (double)x[c] * cos(turn) - (double)x[c + kDim / 2] * sin(turn);
                assert_true(fabs(want - (double)y[c]) <= 1e-6);
            }
    assert_int_equal(ggufx_kv_shift(kv, 0, 101, kv_rest(kv, 0, 101), -37, NULL), GGUFX_E_ARGUMENT);
    OK(ggufx_kv_shift(kv, 0, 100, kv_rest(kv, 0, 100), -37, ok_error()));
    attend_all(kv, &shape, q, out[2], lse[2]);
    assert_memory_equal(out[0], out[2], sizeof out[0]);
    assert_memory_equal(lse[0], lse[2], sizeof lse[0]);
    ggufx_kv_destroy(kv);
    const ggufx_kv_options fixed = kv_shape(1, 1, kDim, kDim, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    kv = kv_make(rt, &fixed);
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 0, 1, NULL), GGUFX_E_UNSUPPORTED);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
    free(q);
    free(a);
    free(b);
    free(keys);
}

static void test_a_window_gives_pages_back_and_hides_what_follows_it(void **state) {
    (void)state;
    enum { kTokens = 1000, kWindow = 100 };
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    ggufx_kv_options shape = shape_of(GGUFX_TYPE_Q8_0, GGUFX_TYPE_Q8_0, 2);
    const ggufx_kv_layer_options layers[2] = {kv_window(kWindow, 0),
                                              kv_types_of_layer(GGUFX_TYPE_F16, GGUFX_TYPE_F32)};
    shape.n_layers = 2;
    shape.n_layer_options = 2;
    shape.layers = layers;
    float *x = kv_random(kTokens * kRow, 1), *q = kv_random(2 * kRow, 2), out[2 * kRow];
    float lse[2 * kHeads], want[2 * kRow], want_lse[2 * kHeads];
    ggufx_kv *kv = kv_make(rt, &shape);
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    for (size_t i = 0; i < kTokens; i += 10)
        for (uint32_t layer = 0; layer < 2; layer++)
            OK(kv_append_rows(kv, layer, 0, 10, NULL, x + i * kRow, 10 * kRow, x + i * kRow,
                              10 * kRow, ok_error()));
    OK(ggufx_kv_info(&facts, kv, 0, ok_error()));
    assert_in_range(facts.n_pages, 3, 4); /* 110 tokens in the window */
    assert_int_equal(facts.type_k, GGUFX_TYPE_Q8_0);
    OK(ggufx_kv_info(&facts, kv, 1, ok_error()));
    assert_int_equal(facts.n_pages, 16);
    assert_int_equal(facts.type_v, GGUFX_TYPE_F32);
    assert_int_equal(length_of(kv, 0), kTokens);
    assert_int_equal(kv_read_rows(out, kRow, NULL, 0, kv, 0, 0, 10, 1, NULL), GGUFX_E_ARGUMENT);
    OK(kv_read_rows(out, kRow, NULL, 0, kv, 0, 0, 901, 1, ok_error()));
    /* a cache of the last 100 tokens alone */
    kv_attend(out, lse, kv, &shape, 0, q, 1, NULL, 0, 0);
    float *k = malloc(kWindow * kRow * 4), *v = malloc(kWindow * kRow * 4);
    OK(kv_read_rows(k, kWindow * kRow, v, kWindow * kRow, kv, 0, 0, kTokens - kWindow, kWindow,
                    ok_error()));
    ggufx_kv_options plain = shape_of(GGUFX_TYPE_F32, GGUFX_TYPE_F32, 1);
    ggufx_kv *other = kv_make(rt, &plain);
    kv_fill(other, &plain, 0, kWindow, kWindow, NULL, k, v);
    kv_attend(want, want_lse, other, &plain, 0, q, 1, NULL, 0, 0);
    for (size_t i = 0; i < 2 * kRow; i++)
        assert_true(fabsf(out[i] - want[i]) <= 2e-3f); /* keys may meet quantized queries */
    /* tokens that the next query would need were dropped */
    assert_int_equal(ggufx_kv_truncate(kv, 0, 700, NULL), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_remove(kv, 0, 5, 495, NULL), GGUFX_E_STATE);
    OK(ggufx_kv_truncate(kv, 0, 990, ok_error()));
    OK(ggufx_kv_copy(kv, 0, 1, 0, kv_rest(kv, 0, 0), ok_error()));
    assert_int_equal(length_of(kv, 1), 990);
    OK(ggufx_kv_truncate(kv, 0, 0, ok_error()));
    assert_int_equal(length_of(kv, 0), 0);
    ggufx_kv_destroy(kv);
    ggufx_kv_destroy(other);
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
    free(x);
    free(q);
    free(k);
    free(v);
}

/* Two heads with equal contents give the bits of a single one, with scores that increase from page
 * to page, and with shifted pages. */
static void test_equal_heads_give_the_bits_of_one(void **state) {
    enum { kDim = 64, kN = 400 };
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    float *x = kv_random(kN * kDim, 1), *q = kv_random(kDim, 2);
    float *two = malloc(kN * 2 * kDim * sizeof *two);
    assert_non_null(two);
    for (size_t t = 0; t < kN; t++)
        for (size_t c = 0; c < kDim; c++) {
            x[t * kDim + c] += q[c] * 0.02f * (float)t; /* more than 8 a page */
            two[(2 * t) * kDim + c] = two[(2 * t + 1) * kDim + c] = x[t * kDim + c];
        }
    float qs[2 * kDim], out[3][2 * kDim];
    memcpy(qs, q, kDim * sizeof *q);
    memcpy(qs + kDim, q, kDim * sizeof *q);
    for (int shifted = 0; shifted < 2; shifted++) {
        for (uint32_t heads = 1; heads <= 2; heads++) {
            ggufx_kv_options shape =
                kv_shape(heads, heads, kDim, kDim, GGUFX_TYPE_Q4_0, GGUFX_TYPE_Q4_0);
            shape.rope_style = GGUFX_ROPE_NONE;
            ggufx_kv *kv = kv_make(rt, &shape);
            const float *from = heads == 1 ? x : two;
            kv_fill(kv, &shape, 0, kN, 100, NULL, from, from);
            if (shifted) OK(ggufx_kv_shift(kv, 0, 200, 200, 7, ok_error()));
            kv_attend(out[heads], NULL, kv, &shape, 0, qs, 1, NULL, 0, 0.5f);
            ggufx_kv_destroy(kv);
        }
        assert_memory_equal(out[1], out[2], kDim * sizeof(float));
        assert_memory_equal(out[1], out[2] + kDim, kDim * sizeof(float));
    }
    ggufx_runtime_destroy(rt);
    free(x);
    free(q);
    free(two);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_share_pages_until_one_of_them_writes),
        cmocka_unit_test(test_scores_are_products_with_the_keys_at_their_positions),
        cmocka_unit_test(test_shifting_there_and_back_restores_every_bit),
        cmocka_unit_test(test_equal_heads_give_the_bits_of_one),
        cmocka_unit_test(test_a_window_gives_pages_back_and_hides_what_follows_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
