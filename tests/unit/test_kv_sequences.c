/*
 * Sequences of a KV cache: copies that share pages, removals, shifts, windows, batches, and the
 * memory all of it takes.
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"

#include <math.h>

enum { kDim = 32, kHeads = 2, kRow = kDim * kHeads };

static ggufx_kv_options shape_of(uint32_t type_k, uint32_t type_v, uint32_t n_sequences) {
    ggufx_kv_options shape = kv_shape(kHeads, 2 * kHeads, kDim, kDim, type_k, type_v);
    shape.n_sequences = n_sequences;
    shape.rope_style = GGUFX_KV_ROPE_HALVES;
    return shape;
}

static void read_all(const ggufx_kv *kv, uint32_t sequence, size_t first, size_t n, float *k,
                     float *v) {
    ggufx_error error;
    if (ggufx_kv_read(k, n * kRow, v, n * kRow, kv, 0, sequence, first, n, &error) != GGUFX_OK)
        fail_msg("%s", error.message);
}

static uint64_t length_of(const ggufx_kv *kv, uint32_t sequence) {
    uint64_t length = 0;
    assert_int_equal(ggufx_kv_length(&length, kv, sequence, NULL), GGUFX_OK);
    return length;
}

static ggufx_kv_facts facts_of(const ggufx_kv *kv) {
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_kv_stats(&facts, kv, GGUFX_KV_ALL_LAYERS, NULL), GGUFX_OK);
    return facts;
}

static void test_sizes_of_appends_change_no_bit_of_any_type(void **state) {
    (void)state;
    static const uint32_t types[] = {GGUFX_KV_Q8_0,  GGUFX_KV_Q5_1,   GGUFX_KV_ROT_Q4_0,
                                     GGUFX_KV_TQ3_0, GGUFX_KV_IQ4_NL, GGUFX_KV_GX2,
                                     GGUFX_KV_GX3,   GGUFX_KV_GX4,    GGUFX_KV_F32};
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

static void test_copies_share_pages_until_one_of_them_writes(void **state) {
    (void)state;
    enum { kTokens = 150 };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_KV_GX3, GGUFX_KV_Q4_0, 3);
    float *k = kv_random(2 * kTokens * kRow, 1), *v = kv_random(2 * kTokens * kRow, 2);
    float *want = malloc(2 * 210 * kRow * 4), *back = malloc(2 * 210 * kRow * 4);
    assert_true(want && back);
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, k, v);
    read_all(kv, 0, 0, kTokens, want, want + kTokens * kRow);
    const ggufx_kv_facts before = facts_of(kv);
    assert_int_equal(before.n_shared_pages, 0);
    assert_int_equal(ggufx_kv_copy(kv, 0, 1, 0, INT32_MAX, NULL), GGUFX_OK);
    assert_int_equal(facts_of(kv).page_bytes, before.page_bytes);
    assert_int_equal(facts_of(kv).n_shared_pages, 2 * 4); /* sinks, two encoded, the last */
    assert_int_equal(length_of(kv, 1), kTokens);
    ggufx_error error;
    assert_int_equal(ggufx_kv_copy(kv, 0, 1, 0, 5, &error), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_copy(kv, 0, 0, 0, 5, &error), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_copy(kv, 0, 3, 0, 5, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_copy(kv, 0, 2, 5, 4, &error), GGUFX_E_ARGUMENT);
    /* both go on differently, also past the end of the shared page */
    kv_fill(kv, &shape, 1, 60, 9, NULL, k + kTokens * kRow, v + kTokens * kRow);
    kv_fill(kv, &shape, 0, 60, 60, NULL, k, v);
    read_all(kv, 1, 0, kTokens, back, back + kTokens * kRow);
    assert_memory_equal(want, back, 132 * kRow * 4); /* what was encoded then */
    ggufx_kv *alone = kv_make(rt, &shape);
    kv_fill(alone, &shape, 0, kTokens, kTokens, NULL, k, v);
    kv_fill(alone, &shape, 0, 60, 60, NULL, k + kTokens * kRow, v + kTokens * kRow);
    read_all(alone, 0, 0, 210, want, want + 210 * kRow);
    read_all(kv, 1, 0, 210, back, back + 210 * kRow);
    assert_memory_equal(want, back, 2 * 210 * kRow * 4);
    assert_int_equal(ggufx_kv_copy(kv, 1, 2, 70, 80, NULL), GGUFX_OK); /* a part of a page */
    assert_int_equal(length_of(kv, 2), 10);
    read_all(kv, 2, 0, 10, back, back + 10 * kRow);
    assert_memory_equal(want + 70 * kRow, back, 10 * kRow * 4);
    assert_int_equal(ggufx_kv_keep(kv, 2, NULL), GGUFX_OK);
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

/* Scores are products with what is read; shifting there and back gives the same ones. */
static void test_scores_are_products_with_the_keys_at_their_positions(void **state) {
    (void)state;
    enum { kTokens = 90, kHeadsQ = 2 * kHeads };
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_KV_GX3, GGUFX_KV_F16, 1);
    float *x = kv_random(kTokens * kRow, 1), *q = kv_random(2 * kHeadsQ * kDim, 3);
    static float scores[3][2 * kHeadsQ * kTokens], k[kTokens * kRow], v[kTokens * kRow];
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, x, x);
    for (int pass = 0; pass < 3; pass++) {
        if (pass == 1) assert_int_equal(ggufx_kv_shift(kv, 0, 30, 200, 7, NULL), GGUFX_OK);
        if (pass == 2) assert_int_equal(ggufx_kv_shift(kv, 0, 37, 207, -7, NULL), GGUFX_OK);
        assert_int_equal(ggufx_kv_scores(scores[pass], 2 * kHeadsQ * kTokens, kv, 0, 0, q,
                                         2 * kHeadsQ * kDim, 2, pass == 1 ? 2.0f : 0, NULL),
                         GGUFX_OK);
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
    assert_int_equal(ggufx_kv_scores(scores[0], 5, kv, 0, 0, q, kHeadsQ * kDim, 1, 0, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_scores(scores[0], kHeadsQ * kTokens, kv, 0, 0, q, 7, 1, 0, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(
        ggufx_kv_scores(scores[0], kHeadsQ * kTokens, kv, 0, 0, q, kHeadsQ * kDim, 1, NAN, &error),
        GGUFX_E_ARGUMENT);
    assert_int_equal(
        ggufx_kv_scores(scores[0], kHeadsQ * kTokens, kv, 1, 0, q, kHeadsQ * kDim, 1, 0, &error),
        GGUFX_E_ARGUMENT);
    assert_int_equal(
        ggufx_kv_scores(NULL, kHeadsQ * kTokens, kv, 0, 0, q, kHeadsQ * kDim, 1, 0, &error),
        GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_scores(scores[0], 0, NULL, 0, 0, q, 0, 0, 0, &error),
                     GGUFX_E_ARGUMENT);
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
    const ggufx_kv_options shape = shape_of(GGUFX_KV_GX4, GGUFX_KV_Q8_0, 1);
    ggufx_kv *kv = kv_make(rt, &shape);
    kv_fill(kv, &shape, 0, kTokens, kTokens, NULL, k, v);
    attend_all(kv, &shape, q, out[0], lse[0]);
    read_all(kv, 0, 0, kTokens, a, b);
    assert_int_equal(ggufx_kv_shift(kv, 0, 100, INT32_MAX, -20, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 100, INT32_MAX, INT32_MAX, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 1, 100, INT32_MAX, 1, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 100, 3, 1, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 100, INT32_MAX, 37, NULL), GGUFX_OK);
    int32_t positions[2];
    assert_int_equal(ggufx_kv_positions(positions, kv, 0, 99, 2, NULL), GGUFX_OK);
    assert_true(positions[0] == 99 && positions[1] == 137);
    attend_all(kv, &shape, q, out[1], lse[1]);
    assert_true(memcmp(out[0], out[1], sizeof out[0]) != 0);
    /* what is read is where it is now */
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
    assert_int_equal(ggufx_kv_shift(kv, 0, 138, INT32_MAX, -37, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_shift(kv, 0, 137, INT32_MAX, -37, NULL), GGUFX_OK);
    attend_all(kv, &shape, q, out[2], lse[2]);
    assert_memory_equal(out[0], out[2], sizeof out[0]);
    assert_memory_equal(lse[0], lse[2], sizeof lse[0]);
    ggufx_kv_destroy(kv);
    const ggufx_kv_options fixed = kv_shape(1, 1, kDim, kDim, GGUFX_KV_F16, GGUFX_KV_F16);
    kv = kv_make(rt, &fixed);
    assert_int_equal(ggufx_kv_shift(kv, 0, 0, 1, 1, NULL), GGUFX_E_UNSUPPORTED);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
    free(q);
    free(a);
    free(b);
    free(keys);
}

static void test_a_window_gives_pages_back_and_hides_what_is_behind_it(void **state) {
    (void)state;
    enum { kTokens = 1000, kWindow = 100 };
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    ggufx_kv_options shape = shape_of(GGUFX_KV_Q8_0, GGUFX_KV_Q8_0, 2);
    const ggufx_kv_layer layers[2] = {{0, 0, kWindow, 0}, {GGUFX_KV_F16, GGUFX_KV_F32, 0, 0}};
    shape.n_layers = 2;
    shape.n_layer_options = 2;
    shape.layers = layers;
    float *x = kv_random(kTokens * kRow, 1), *q = kv_random(2 * kRow, 2), out[2 * kRow];
    float lse[2 * kHeads], want[2 * kRow], want_lse[2 * kHeads];
    ggufx_kv *kv = kv_make(rt, &shape);
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    for (size_t i = 0; i < kTokens; i += 10)
        for (uint32_t layer = 0; layer < 2; layer++)
            assert_int_equal(ggufx_kv_append(kv, layer, 0, 10, NULL, x + i * kRow, 10 * kRow,
                                             x + i * kRow, 10 * kRow, NULL),
                             GGUFX_OK);
    assert_int_equal(ggufx_kv_stats(&facts, kv, 0, NULL), GGUFX_OK);
    assert_in_range(facts.n_pages, 3, 4); /* 110 tokens in view */
    assert_int_equal(facts.type_k, GGUFX_KV_Q8_0);
    assert_int_equal(ggufx_kv_stats(&facts, kv, 1, NULL), GGUFX_OK);
    assert_int_equal(facts.n_pages, 16);
    assert_int_equal(facts.type_v, GGUFX_KV_F32);
    assert_int_equal(length_of(kv, 0), kTokens);
    assert_int_equal(ggufx_kv_read(out, kRow, NULL, 0, kv, 0, 0, 10, 1, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_read(out, kRow, NULL, 0, kv, 0, 0, 901, 1, NULL), GGUFX_OK);
    /* the last 100 tokens by themselves */
    kv_attend(out, lse, kv, &shape, 0, q, 1, NULL, 0, 0);
    float *k = malloc(kWindow * kRow * 4), *v = malloc(kWindow * kRow * 4);
    assert_int_equal(ggufx_kv_read(k, kWindow * kRow, v, kWindow * kRow, kv, 0, 0,
                                   kTokens - kWindow, kWindow, NULL),
                     GGUFX_OK);
    ggufx_kv_options plain = shape_of(GGUFX_KV_F32, GGUFX_KV_F32, 1);
    ggufx_kv *other = kv_make(rt, &plain);
    kv_fill(other, &plain, 0, kWindow, kWindow, NULL, k, v);
    kv_attend(want, want_lse, other, &plain, 0, q, 1, NULL, 0, 0);
    for (size_t i = 0; i < 2 * kRow; i++)
        assert_true(fabsf(out[i] - want[i]) <= 2e-3f); /* keys may meet rounded queries */
    /* what the next token would need is gone */
    assert_int_equal(ggufx_kv_truncate(kv, 0, 700, NULL), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_remove(kv, 0, 5, 500, NULL), GGUFX_E_STATE);
    assert_int_equal(ggufx_kv_truncate(kv, 0, 990, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_copy(kv, 0, 1, 0, INT32_MAX, NULL), GGUFX_OK);
    assert_int_equal(length_of(kv, 1), 990);
    assert_int_equal(ggufx_kv_truncate(kv, 0, 0, NULL), GGUFX_OK);
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

static void test_a_batch_is_the_same_as_single_appends_and_all_or_nothing(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    const ggufx_kv_options shape = shape_of(GGUFX_KV_GX4, GGUFX_KV_GX2, 3);
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
    for (long at = 1;; at++) { /* nothing is left behind by any allocation that fails */
        memory.fail_at = at;
        const ggufx_status status = ggufx_kv_append_batch(
            batch, 0, kTokens, sequences, positions, x, kTokens * kRow, x, kTokens * kRow, NULL);
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
        for (size_t i = 0; i < kTokens; i++) { /* sinks and last tokens: exact but for F16 */
            if (sequences[i] != s) continue;
            if (at < 4) assert_true(fabsf(a[at * kRow] - x[i * kRow]) <= 0x1p-11f);
            if (at >= 4 + 128) assert_true(fabsf(b[at * kRow + 1] - x[i * kRow + 1]) <= 0x1p-11f);
            at++;
        }
        int32_t got[kTokens];
        assert_int_equal(ggufx_kv_positions(got, batch, s, 0, n, NULL), GGUFX_OK);
        for (size_t i = 0; i < n; i++) assert_int_equal(got[i], (int32_t)i);
    }
    ggufx_error error;
    sequences[9] = 3;
    assert_int_equal(ggufx_kv_append_batch(batch, 0, 10, sequences, positions, x, 10 * kRow, x,
                                           10 * kRow, &error),
                     GGUFX_E_ARGUMENT);
    sequences[9] = 0;
    assert_int_equal(ggufx_kv_append_batch(batch, 0, 10, sequences, positions, x, 10 * kRow, x,
                                           10 * kRow, &error),
                     GGUFX_E_ARGUMENT); /* positions descend */
    assert_int_equal(ggufx_kv_append_batch(batch, 0, 1, NULL, positions, x, kRow, x, kRow, &error),
                     GGUFX_E_ARGUMENT);
    x[kRow + 1] = NAN;
    for (int32_t i = 0; i < 2; i++) positions[i] = 1000;
    assert_int_equal(
        ggufx_kv_append_batch(batch, 0, 2, sequences, positions, x, 2 * kRow, x, 2 * kRow, &error),
        GGUFX_E_VALUE);
    assert_int_equal(error.index, kRow + 1);
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
    const ggufx_kv_options shape = shape_of(GGUFX_KV_F16, GGUFX_KV_Q8_0, 1);
    enum { kTokens = 70, kN = kTokens * kRow };
    uint16_t *half = malloc(kN * sizeof *half);
    float *x = malloc(kN * sizeof *x), *a = malloc(2 * kN * 4), *b = malloc(2 * kN * 4);
    assert_true(half && x && a && b);
    for (uint32_t format = GGUFX_KV_HALF_F16; format <= GGUFX_KV_HALF_BF16; format++) {
        for (size_t i = 0; i < kN; i++) {
            const uint32_t m = (uint32_t)(i * 37 % 128);
            half[i] = (uint16_t)(format == GGUFX_KV_HALF_F16 ? 0x3c00 + m : 0x3f80 + m);
            x[i] = 1.0f + (float)m * (format == GGUFX_KV_HALF_F16 ? 0x1p-10f : 0x1p-7f);
        }
        ggufx_kv *one = kv_make(rt, &shape), *two = kv_make(rt, &shape);
        kv_fill(one, &shape, 0, kTokens, kTokens, NULL, x, x);
        assert_int_equal(
            ggufx_kv_append_half(two, 0, 0, kTokens, NULL, format, half, kN, half, kN, NULL),
            GGUFX_OK);
        read_all(one, 0, 0, kTokens, a, a + kN);
        read_all(two, 0, 0, kTokens, b, b + kN);
        assert_memory_equal(a, b, 2 * kN * sizeof *a);
        assert_memory_equal(a, x, kN * sizeof *a);
        ggufx_error error;
        half[70] = format == GGUFX_KV_HALF_F16 ? 0x7c00 : 0x7f80;
        assert_int_equal(ggufx_kv_append_half(two, 0, 0, 2, NULL, format, half, 2 * kRow, half,
                                              2 * kRow, &error),
                         GGUFX_E_VALUE);
        assert_int_equal(error.index, 70);
        ggufx_kv_destroy(one);
        ggufx_kv_destroy(two);
    }
    ggufx_kv *kv = kv_make(rt, &shape);
    assert_int_equal(ggufx_kv_append_half(kv, 0, 0, 1, NULL, 3, half, kRow, half, kRow, NULL),
                     GGUFX_E_ARGUMENT);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(half);
    free(x);
    free(a);
    free(b);
}

static size_t allocated; /* bytes that counting_alloc has given and not got back */

static void *counting_alloc(void *user, size_t size, size_t align) {
    (void)user;
    void *p = NULL;
    if (posix_memalign(&p, align < sizeof p ? sizeof p : align, size)) return NULL;
    allocated += size;
    return p;
}
static void counting_free(void *user, void *p, size_t size, size_t align) {
    (void)user;
    (void)align;
    allocated -= size;
    free(p);
}

static void test_the_estimate_is_what_is_then_allocated(void **state) {
    (void)state;
    ggufx_allocator allocator = {
        .struct_size = sizeof allocator, .alloc = counting_alloc, .free = counting_free};
    ggufx_runtime_options options;
    ggufx_runtime_options_init(&options);
    options.allocator = &allocator;
    options.threads = 1;
    ggufx_runtime *rt = NULL;
    assert_int_equal(ggufx_runtime_create(&rt, &options, NULL), GGUFX_OK);
    static const uint32_t types[][2] = {{GGUFX_KV_F16, GGUFX_KV_F16},
                                        {GGUFX_KV_GX4, GGUFX_KV_GX3},
                                        {GGUFX_KV_F32, GGUFX_KV_Q5_1},
                                        {GGUFX_KV_TQ3_0, GGUFX_KV_Q8_0}};
    static const size_t counts[] = {0, 1, 4, 5, 63, 64, 68, 69, 700};
    float *x = kv_random(700 * kRow, 1);
    for (size_t t = 0; t < 4; t++)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int how = 0; how < 3; how++) {
                ggufx_kv_options shape = shape_of(types[t][0], types[t][1], 2);
                const size_t n = counts[c];
                uint64_t want = 0;
                shape.n_layers = 2;
                const size_t before = allocated;
                assert_int_equal(ggufx_kv_estimate(&want, rt, &shape, n, NULL), GGUFX_OK);
                assert_int_equal(allocated, before);
                ggufx_kv *kv = kv_make(rt, &shape);
                for (uint32_t s = 0; s < 2 && how != 1; s++)
                    assert_int_equal(ggufx_kv_reserve(kv, s, n, NULL), GGUFX_OK);
                for (uint32_t s = 0; s < 2 && how; s++)
                    for (uint32_t layer = 0; layer < 2; layer++)
                        for (size_t i = 0; i < n; i += 33) {
                            const size_t m = n - i < 33 ? n - i : 33;
                            assert_int_equal(ggufx_kv_append(kv, layer, s, m, NULL, x, m * kRow, x,
                                                             m * kRow, NULL),
                                             GGUFX_OK);
                        }
                if (allocated - before != want)
                    fail_msg("%zu tokens of %u, %u, way %d: %zu bytes, estimate %zu", n,
                             types[t][0], types[t][1], how, allocated - before, (size_t)want);
                ggufx_kv_destroy(kv);
                assert_int_equal(allocated, before);
            }
    ggufx_runtime_destroy(rt);
    free(x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes_of_appends_change_no_bit_of_any_type),
        cmocka_unit_test(test_copies_share_pages_until_one_of_them_writes),
        cmocka_unit_test(test_scores_are_products_with_the_keys_at_their_positions),
        cmocka_unit_test(test_shifting_there_and_back_restores_every_bit),
        cmocka_unit_test(test_a_window_gives_pages_back_and_hides_what_is_behind_it),
        cmocka_unit_test(test_a_batch_is_the_same_as_single_appends_and_all_or_nothing),
        cmocka_unit_test(test_halves_are_stored_as_the_floats_they_are),
        cmocka_unit_test(test_the_estimate_is_what_is_then_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
