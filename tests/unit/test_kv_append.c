/*
 * Contents of a KV cache after appends: positions, lengths, truncate and rollback, sequences.
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"
#include "ok.h"

static void test_positions_are_kept_continued_and_may_have_gaps(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = kv_shape(1, 1, 4, 4, GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(100 * 4, 1);
    const int32_t gaps[] = {3, 3, 10, 1000};
    int32_t got[80], want[80];
    kv_fill(kv, &shape, 0, 4, 2, gaps, x, x);
    kv_fill(kv, &shape, 0, 70, 5, NULL, x, x); /* 1001 .. 1070, over two pages */
    for (int32_t i = 0; i < 74; i++) want[i] = i < 4 ? gaps[i] : 997 + i;
    OK(ggufx_kv_positions(got, kv, 0, 0, 74, ok_error()));
    assert_memory_equal(got, want, 74 * sizeof *got);
    OK(ggufx_kv_positions(got, kv, 0, 63, 3, ok_error()));
    assert_memory_equal(got, want + 63, 3 * sizeof *got);
    float out[4], lse;
    const int32_t query = 999;
    kv_attend(out, &lse, kv, &shape, 0, x, 1, &query, 0, 0); /* sees the first three */
    kv_check(out, &lse, kv, &shape, 0, x, 1, &query, want, 0);
    OK(ggufx_kv_truncate(kv, 0, 2, ok_error()));
    kv_fill(kv, &shape, 0, 1, 1, NULL, x, x);
    OK(ggufx_kv_positions(got, kv, 0, 2, 1, ok_error()));
    assert_int_equal(got[0], 4);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
}

static void test_truncating_and_appending_again_gives_the_bits_of_a_fresh_cache(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const uint64_t cuts[] = {0, 1, 63, 64, 65, 128, 149, 150};
    const ggufx_kv_options shape = kv_shape(2, 4, 20, 12, GGUFX_TYPE_BF16, GGUFX_TYPE_F16);
    float *k = kv_random(150 * 40, 1), *v = kv_random(150 * 24, 2), *other = kv_random(150 * 40, 3);
    float *q = kv_random(80, 4), fresh[48], again[48], lse[4], lse_again[4];
    ggufx_kv *a = kv_make(rt, &shape), *b = kv_make(rt, &shape);
    kv_fill(a, &shape, 0, 150, 150, NULL, k, v);
    kv_attend(fresh, lse, a, &shape, 0, q, 1, NULL, 0, 0);
    kv_fill(b, &shape, 0, 150, 150, NULL, k, v);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        const size_t n = (size_t)cuts[i];
        uint64_t length = 0;
        OK(ggufx_kv_truncate(b, 0, n, ok_error()));
        OK(ggufx_kv_length(&length, b, 0, ok_error()));
        assert_int_equal(length, n);
        kv_fill(b, &shape, 0, 20, 20, NULL, other, other); /* tokens that are truncated again */
        OK(ggufx_kv_truncate(b, 0, n, ok_error()));
        kv_fill(b, &shape, 0, 150 - n, 11, NULL, k + n * 40, v + n * 24);
        kv_attend(again, lse_again, b, &shape, 0, q, 1, NULL, 0, 0);
        assert_memory_equal(again, fresh, sizeof fresh);
        assert_memory_equal(lse_again, lse, sizeof lse);
    }
    ggufx_kv_destroy(a);
    ggufx_kv_destroy(b);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
    free(other);
    free(q);
}

static void test_length_is_the_shortest_layer_and_rollback_cuts_to_it(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 1, 4, 4, GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    shape.n_layers = 3;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(80 * 4, 1), back[4];
    uint64_t length = 99;
    const size_t counts[3] = {70, 66, 65};
    for (uint32_t layer = 0; layer < 3; layer++) {
        OK(ggufx_kv_length(&length, kv, 0, ok_error()));
        assert_int_equal(length, 0);
        const size_t n = counts[layer];
        OK(kv_append_rows(kv, layer, 0, n, NULL, x, n * 4, x, n * 4, ok_error()));
    }
    OK(ggufx_kv_length(&length, kv, 0, ok_error()));
    assert_int_equal(length, 65);
    assert_int_equal(ggufx_kv_truncate(kv, 0, 66, NULL), GGUFX_E_ARGUMENT);
    OK(kv_read_rows(back, 4, NULL, 0, kv, 0, 0, 69, 1, ok_error()));
    OK(ggufx_kv_rollback(kv, 0, ok_error()));
    for (uint32_t layer = 0; layer < 3; layer++) {
        assert_int_equal(kv_read_rows(back, 4, NULL, 0, kv, layer, 0, 65, 1, NULL),
                         GGUFX_E_ARGUMENT);
        OK(kv_read_rows(NULL, 0, back, 4, kv, layer, 0, 64, 1, ok_error()));
        assert_memory_equal(back, x + 64 * 4, sizeof back);
    }
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
}

static void test_sequences_and_layers_do_not_see_each_other(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 2, 8, 8, GGUFX_TYPE_F16, GGUFX_TYPE_F16);
    shape.n_sequences = 2;
    shape.n_layers = 2;
    ggufx_kv *both = kv_make(rt, &shape);
    float *x[2] = {kv_random(100 * 8, 1), kv_random(100 * 8, 2)}, *q = kv_random(16, 3);
    for (size_t i = 0; i < 100; i++) /* interleaved, token by token */
        for (uint32_t s = 0; s < 2; s++)
            for (uint32_t layer = 0; layer < 2; layer++) {
                const float *row = x[s ^ layer] + i * 8;
                OK(kv_append_rows(both, layer, s, 1, NULL, row, 8, row, 8, ok_error()));
            }
    for (uint32_t s = 0; s < 2; s++) {
        float want[16], got[16];
        ggufx_kv *alone = kv_make(rt, &shape);
        kv_fill(alone, &shape, 0, 100, 100, NULL, x[s], x[s]);
        kv_attend(want, NULL, alone, &shape, 0, q, 1, NULL, 0, 0);
        kv_attend(got, NULL, both, &shape, s, q, 1, NULL, 0, 0);
        assert_memory_equal(got, want, sizeof got);
        OK(kv_attend_rows(got, 16, NULL, 0, both, 1, 1 - s, q, 16, 1, NULL, NULL, ok_error()));
        assert_memory_equal(got, want, sizeof got);
        ggufx_kv_destroy(alone);
    }
    OK(ggufx_kv_truncate(both, 0, 0, ok_error()));
    uint64_t length = 0;
    OK(ggufx_kv_length(&length, both, 1, ok_error()));
    assert_int_equal(length, 100);
    ggufx_kv_destroy(both);
    ggufx_runtime_destroy(rt);
    free(x[0]);
    free(x[1]);
    free(q);
}

static void test_stats_count_tokens_pages_and_padded_bytes(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(2, 2, 80, 24, GGUFX_TYPE_Q8_0, GGUFX_TYPE_F16);
    shape.n_layers = 3;
    shape.n_sequences = 2;
    ggufx_kv *kv = kv_make(rt, &shape);
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_kv_reserve(kv, 1, 65, ok_error()));
    float *k = kv_random(10 * 160, 1), *v = kv_random(10 * 48, 2);
    kv_fill(kv, &shape, 0, 10, 10, NULL, k, v);
    kv_fill(kv, &shape, 1, 5, 5, NULL, k, v);
    OK(ggufx_kv_info(&facts, kv, GGUFX_KV_ALL_LAYERS, ok_error()));
    assert_int_equal(facts.type_k, GGUFX_TYPE_Q8_0);
    assert_int_equal(facts.type_v, GGUFX_TYPE_F16);
    assert_int_equal(facts.n_tokens, 15);
    assert_int_equal(facts.n_pages, 8); /* sinks and last tokens of 3 layers, and of one */
    assert_int_equal(facts.n_plain_pages, 8);
    assert_int_equal(facts.bytes_per_token, 3 * 2 * (3 * 34 + 24 * 2)); /* 80 padded to 96 */
    assert_true(facts.bits_per_value == (3 * 34 + 24 * 2) * 8 / 104.0);
    /* F16 pages: rows of V padded to 32; positions and owners, errors per head, whole cache
     * lines */
    assert_int_equal(facts.page_bytes, 8 * (64 * 2 * (80 + 32) * 2 + 320 + 64));
    kv_fill(kv, &shape, 0, 10, 10, NULL, k, v);
    OK(ggufx_kv_info(&facts, kv, 1, ok_error()));
    assert_int_equal(facts.n_pages, 2);
    assert_int_equal(facts.n_tokens, 0);
    assert_int_equal(facts.bytes_per_token, 2 * (3 * 34 + 24 * 2));
    OK(ggufx_kv_clear(kv, ok_error()));
    OK(ggufx_kv_info(&facts, kv, GGUFX_KV_ALL_LAYERS, ok_error()));
    assert_int_equal(facts.n_tokens, 0);
    assert_int_equal(facts.n_pages, 0);
    assert_int_equal(facts.page_bytes, 0);
    kv_fill(kv, &shape, 0, 10, 10, NULL, k, v); /* usable again */
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_positions_are_kept_continued_and_may_have_gaps),
        cmocka_unit_test(test_truncating_and_appending_again_gives_the_bits_of_a_fresh_cache),
        cmocka_unit_test(test_length_is_the_shortest_layer_and_rollback_cuts_to_it),
        cmocka_unit_test(test_sequences_and_layers_do_not_see_each_other),
        cmocka_unit_test(test_stats_count_tokens_pages_and_padded_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
