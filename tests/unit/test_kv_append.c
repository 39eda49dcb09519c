/*
 * What a KV cache stores: encoded bits, positions, lengths, truncate and rollback, sequences.
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"

#include <math.h>

/* Store n floats as one head of the first token (keys; values likewise) of a page that gets encoded
 * when the type is, and read them back. */
static void store(float *out_k, float *out_v, uint32_t type, const float *x, uint32_t n) {
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 1, n, n, type, type);
    shape.n_sinks = GGUFX_KV_NO_SINKS;
    ggufx_kv *kv = kv_make(rt, &shape);
    for (size_t i = 0; i < (type < GGUFX_KV_Q8_0 ? 1 : 64); i++)
        kv_fill(kv, &shape, 0, 1, 1, NULL, x, x);
    assert_int_equal(ggufx_kv_read(out_k, n, out_v, n, kv, 0, 0, 0, 1, NULL), GGUFX_OK);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

static void check_stored(uint32_t type, const float *x, const float *want, uint32_t n) {
    float *k = malloc(n * sizeof *k), *v = malloc(n * sizeof *v);
    assert_true(k && v);
    store(k, v, type, x, n);
    for (uint32_t i = 0; i < n; i++) {
        if (kv_bits(k[i]) != kv_bits(want[i]))
            fail_msg("value %u of type %u: %.9g stored as %.9g, want %.9g", i, type, (double)x[i],
                     (double)k[i], (double)want[i]);
        assert_int_equal(kv_bits(v[i]), kv_bits(want[i]));
    }
    free(k);
    free(v);
}

static void test_f32_keeps_every_bit(void **state) {
    (void)state;
    const float x[] = {0.0f,      -0.0f, 0x1p-149f, -0x1.fffffep127f, 1.5f, 0x1.fffffcp-127f,
                       -3.25e-20f};
    check_stored(GGUFX_KV_F32, x, x, 7);
}

static void test_f16_keeps_every_finite_half_and_rounds_to_nearest_even(void **state) {
    (void)state;
    float *halves = malloc(2 * 31744 * sizeof *halves);
    assert_non_null(halves);
    for (uint32_t h = 0; h < 31744; h++) { /* 0x0000..0x7bff, then the negative ones */
        const uint32_t exponent = h >> 10, mantissa = h & 1023;
        halves[h] = exponent ? ldexpf(1024.0f + (float)mantissa, (int)exponent - 25)
                             : ldexpf((float)mantissa, -24);
        halves[31744 + h] = -halves[h];
    }
    check_stored(GGUFX_KV_F16, halves, halves, 2 * 31744);
    free(halves);
    const float x[] = {1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 1.0f + 0x1.002p-11f,
                       0x1p-25f,        0x1.000002p-25f,     -3 * 0x1p-25f,
                       65504.0f,        -65504.0f,           2047.5f * 0x1p-5f};
    const float want[] = {1.0f,      1.0f + 0x1p-9f, 1.0f + 0x1p-10f, 0.0f, 0x1p-24f,
                          -0x1p-23f, 65504.0f,       -65504.0f,       64.0f};
    check_stored(GGUFX_KV_F16, x, want, 9);
}

static void test_bf16_rounds_to_nearest_even(void **state) {
    (void)state;
    const float x[] = {1.0f + 0x1p-8f,
                       1.0f + 3 * 0x1p-8f,
                       1.0f + 0x1.0002p-8f,
                       0x1.fefffep127f,
                       -0x1p-134f,
                       0x1.8p-133f,
                       3.0f};
    const float want[] = {1.0f, 1.0f + 0x1p-6f, 1.0f + 0x1p-7f, 0x1.fep127f, -0.0f, 0x1p-132f,
                          3.0f};
    check_stored(GGUFX_KV_BF16, x, want, 7);
}

static void test_q8_0_rounds_ties_away_and_stores_zero_blocks(void **state) {
    (void)state;
    float x[40] = {0}, want[40] = {0};
    /* amax 127: d = id = 1, codes are the rounded values */
    const float ties[] = {127.0f, 0.5f,  -0.5f,       1.5f,   -1.5f,
                          2.5f,   -2.5f, 0x1.ffcp-2f, 126.5f, -126.5f};
    const float codes[] = {127.0f, 1.0f, -1.0f, 2.0f, -2.0f, 3.0f, -3.0f, 0.0f, 127.0f, -127.0f};
    memcpy(x, ties, sizeof ties);
    memcpy(want, codes, sizeof codes);
    check_stored(GGUFX_KV_Q8_0, x, want, 40); /* the second block: 8 zeros and padding */

    /* amax 1: the stored scale is f16(1/127) = 0x2008, the codes use the unrounded 1/127:
     * 1927/2048 * 127 = 119.497 is code 119 (with the rounded scale it would be 120). */
    const float d = 0x1.02p-7f;
    const float y[] = {1.0f, -1.0f, 0.5f, 1927 / 2048.0f, 0.0f};
    const float wanted[] = {127 * d, -127 * d, 64 * d, 119 * d, 0.0f};
    check_stored(GGUFX_KV_Q8_0, y, wanted, 5);

    /* Scales down to f16 subnormals and zero; the largest scale. */
    const float tiny[] = {127 * 0x1p-24f, 0x1p-24f};
    check_stored(GGUFX_KV_Q8_0, tiny, tiny, 2);
    const float vanishing[] = {1e-8f, -1e-40f}, zeros[] = {0.0f, 0.0f};
    float back[2], same[2];
    store(back, same, GGUFX_KV_Q8_0, vanishing, 2);
    assert_true(back[0] == zeros[0] && back[1] == zeros[1]);
    const float large[] = {65504.0f, -65504.0f}, stored[] = {127 * 516.0f, -127 * 516.0f};
    check_stored(GGUFX_KV_Q8_0, large, stored, 2);
}

static void test_types_are_described_and_found_by_name(void **state) {
    (void)state;
    static const struct {
        uint32_t id, flags, values, bytes;
        const char *name, *given;
    } types[] = {{GGUFX_KV_F32, GGUFX_TYPE_IS_FLOAT, 1, 4, "f32", "F32"},
                 {GGUFX_KV_F16, GGUFX_TYPE_IS_FLOAT, 1, 2, "f16", "f16"},
                 {GGUFX_KV_BF16, GGUFX_TYPE_IS_FLOAT, 1, 2, "bf16", "Bf16"},
                 {GGUFX_KV_Q8_0, GGUFX_TYPE_IS_QUANTIZED, 32, 34, "q8_0", "Q8_0"}};
    for (size_t i = 0; i < 4; i++) {
        ggufx_kv_type_facts facts = {.struct_size = sizeof facts};
        uint32_t id = 99;
        assert_int_equal(ggufx_kv_type_info(&facts, types[i].id, NULL), GGUFX_OK);
        assert_int_equal(facts.id, types[i].id);
        assert_int_equal(facts.flags, types[i].flags);
        assert_int_equal(facts.block_values, types[i].values);
        assert_int_equal(facts.block_bytes, types[i].bytes);
        assert_string_equal(facts.name, types[i].name);
        assert_int_equal(ggufx_kv_type_from_name(&id, types[i].given, NULL), GGUFX_OK);
        assert_int_equal(id, types[i].id);
    }
    ggufx_kv_type_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_kv_type_info(&facts, GGUFX_KV_DEFAULT, NULL), GGUFX_OK);
    assert_string_equal(facts.name, "f16");
    ggufx_error error;
    uint32_t id = 99;
    assert_int_equal(ggufx_kv_type_info(&facts, 7, &error), GGUFX_E_TYPE);
    assert_non_null(strstr(error.message, "7"));
    assert_int_equal(ggufx_kv_type_info(&facts, 7, NULL), GGUFX_E_TYPE);
    assert_int_equal(ggufx_kv_type_info(NULL, 1, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_type_from_name(&id, "q8_00", &error), GGUFX_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "\"q8_0\""));
    assert_int_equal(id, 0);
    assert_int_equal(ggufx_kv_type_from_name(&id, "q8", NULL), GGUFX_E_NOT_FOUND);
    assert_int_equal(ggufx_kv_type_from_name(NULL, "f16", NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_type_from_name(&id, NULL, NULL), GGUFX_E_ARGUMENT);
    facts.struct_size = 4;
    assert_int_equal(ggufx_kv_type_info(&facts, 1, NULL), GGUFX_E_ARGUMENT);
}

static void test_positions_are_kept_continued_and_may_have_gaps(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = kv_shape(1, 1, 4, 4, GGUFX_KV_F32, GGUFX_KV_F32);
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(100 * 4, 1);
    const int32_t gaps[] = {3, 3, 10, 1000};
    int32_t got[80], want[80];
    kv_fill(kv, &shape, 0, 4, 2, gaps, x, x);
    kv_fill(kv, &shape, 0, 70, 5, NULL, x, x); /* 1001 .. 1070, over two pages */
    for (int32_t i = 0; i < 74; i++) want[i] = i < 4 ? gaps[i] : 997 + i;
    assert_int_equal(ggufx_kv_positions(got, kv, 0, 0, 74, NULL), GGUFX_OK);
    assert_memory_equal(got, want, 74 * sizeof *got);
    assert_int_equal(ggufx_kv_positions(got, kv, 0, 63, 3, NULL), GGUFX_OK);
    assert_memory_equal(got, want + 63, 3 * sizeof *got);
    float out[4], lse;
    const int32_t query = 999;
    kv_attend(out, &lse, kv, &shape, 0, x, 1, &query, 0, 0); /* sees the first three */
    kv_check(out, &lse, kv, &shape, 0, x, 1, &query, want, 0);
    assert_int_equal(ggufx_kv_truncate(kv, 0, 2, NULL), GGUFX_OK);
    kv_fill(kv, &shape, 0, 1, 1, NULL, x, x);
    assert_int_equal(ggufx_kv_positions(got, kv, 0, 2, 1, NULL), GGUFX_OK);
    assert_int_equal(got[0], 4);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
}

static void test_truncating_and_appending_again_gives_the_bits_of_a_fresh_cache(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const uint64_t cuts[] = {0, 1, 63, 64, 65, 128, 149, 150};
    const ggufx_kv_options shape = kv_shape(2, 4, 20, 12, GGUFX_KV_BF16, GGUFX_KV_F16);
    float *k = kv_random(150 * 40, 1), *v = kv_random(150 * 24, 2), *other = kv_random(150 * 40, 3);
    float *q = kv_random(80, 4), fresh[48], again[48], lse[4], lse_again[4];
    ggufx_kv *a = kv_make(rt, &shape), *b = kv_make(rt, &shape);
    kv_fill(a, &shape, 0, 150, 150, NULL, k, v);
    kv_attend(fresh, lse, a, &shape, 0, q, 1, NULL, 0, 0);
    kv_fill(b, &shape, 0, 150, 150, NULL, k, v);
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        const size_t n = (size_t)cuts[i];
        uint64_t length = 0;
        assert_int_equal(ggufx_kv_truncate(b, 0, n, NULL), GGUFX_OK);
        assert_int_equal(ggufx_kv_length(&length, b, 0, NULL), GGUFX_OK);
        assert_int_equal(length, n);
        kv_fill(b, &shape, 0, 20, 20, NULL, other, other); /* dirt that is cut off again */
        assert_int_equal(ggufx_kv_truncate(b, 0, n, NULL), GGUFX_OK);
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
    ggufx_kv_options shape = kv_shape(1, 1, 4, 4, GGUFX_KV_F32, GGUFX_KV_F32);
    shape.n_layers = 3;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *x = kv_random(80 * 4, 1), back[4];
    uint64_t length = 99;
    const size_t counts[3] = {70, 66, 65};
    for (uint32_t layer = 0; layer < 3; layer++) {
        assert_int_equal(ggufx_kv_length(&length, kv, 0, NULL), GGUFX_OK);
        assert_int_equal(length, 0);
        const size_t n = counts[layer];
        assert_int_equal(ggufx_kv_append(kv, layer, 0, n, NULL, x, n * 4, x, n * 4, NULL),
                         GGUFX_OK);
    }
    assert_int_equal(ggufx_kv_length(&length, kv, 0, NULL), GGUFX_OK);
    assert_int_equal(length, 65);
    assert_int_equal(ggufx_kv_truncate(kv, 0, 66, NULL), GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_read(back, 4, NULL, 0, kv, 0, 0, 69, 1, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_rollback(kv, 0, NULL), GGUFX_OK);
    for (uint32_t layer = 0; layer < 3; layer++) {
        assert_int_equal(ggufx_kv_read(back, 4, NULL, 0, kv, layer, 0, 65, 1, NULL),
                         GGUFX_E_ARGUMENT);
        assert_int_equal(ggufx_kv_read(NULL, 0, back, 4, kv, layer, 0, 64, 1, NULL), GGUFX_OK);
        assert_memory_equal(back, x + 64 * 4, sizeof back);
    }
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(x);
}

static void test_sequences_and_layers_do_not_see_each_other(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 2, 8, 8, GGUFX_KV_F16, GGUFX_KV_F16);
    shape.n_sequences = 2;
    shape.n_layers = 2;
    ggufx_kv *both = kv_make(rt, &shape);
    float *x[2] = {kv_random(100 * 8, 1), kv_random(100 * 8, 2)}, *q = kv_random(16, 3);
    for (size_t i = 0; i < 100; i++) /* interleaved, token by token */
        for (uint32_t s = 0; s < 2; s++)
            for (uint32_t layer = 0; layer < 2; layer++) {
                const float *row = x[s ^ layer] + i * 8;
                assert_int_equal(ggufx_kv_append(both, layer, s, 1, NULL, row, 8, row, 8, NULL),
                                 GGUFX_OK);
            }
    for (uint32_t s = 0; s < 2; s++) {
        float want[16], got[16];
        ggufx_kv *alone = kv_make(rt, &shape);
        kv_fill(alone, &shape, 0, 100, 100, NULL, x[s], x[s]);
        kv_attend(want, NULL, alone, &shape, 0, q, 1, NULL, 0, 0);
        kv_attend(got, NULL, both, &shape, s, q, 1, NULL, 0, 0);
        assert_memory_equal(got, want, sizeof got);
        assert_int_equal(ggufx_kv_attend(got, 16, NULL, both, 1, 1 - s, q, 16, 1, NULL, NULL, NULL),
                         GGUFX_OK);
        assert_memory_equal(got, want, sizeof got);
        ggufx_kv_destroy(alone);
    }
    assert_int_equal(ggufx_kv_truncate(both, 0, 0, NULL), GGUFX_OK);
    uint64_t length = 0;
    assert_int_equal(ggufx_kv_length(&length, both, 1, NULL), GGUFX_OK);
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
    ggufx_kv_options shape = kv_shape(2, 2, 80, 24, GGUFX_KV_Q8_0, GGUFX_KV_DEFAULT);
    shape.n_layers = 3;
    shape.n_sequences = 2;
    ggufx_kv *kv = kv_make(rt, &shape);
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    assert_int_equal(ggufx_kv_reserve(kv, 1, 65, NULL), GGUFX_OK);
    float *k = kv_random(10 * 160, 1), *v = kv_random(10 * 48, 2);
    kv_fill(kv, &shape, 0, 10, 10, NULL, k, v);
    kv_fill(kv, &shape, 1, 5, 5, NULL, k, v);
    assert_int_equal(ggufx_kv_stats(&facts, kv, GGUFX_KV_ALL_LAYERS, NULL), GGUFX_OK);
    assert_int_equal(facts.type_k, GGUFX_KV_Q8_0);
    assert_int_equal(facts.type_v, GGUFX_KV_F16);
    assert_int_equal(facts.n_tokens, 15);
    assert_int_equal(facts.n_pages, 8); /* for sinks and for the last tokens: 3 layers, and one */
    assert_int_equal(facts.n_plain_pages, 8);
    assert_int_equal(facts.bytes_per_token, 3 * 2 * (3 * 34 + 24 * 2)); /* 80 padded to 96 */
    assert_true(facts.bits_per_value == (3 * 34 + 24 * 2) * 8 / 104.0);
    /* F16 pages: rows of V padded to 32; positions and owners, errors per head, whole lines */
    assert_int_equal(facts.page_bytes, 8 * (64 * 2 * (80 + 32) * 2 + 320 + 64));
    kv_fill(kv, &shape, 0, 10, 10, NULL, k, v);
    assert_int_equal(ggufx_kv_stats(&facts, kv, 1, NULL), GGUFX_OK);
    assert_int_equal(facts.n_pages, 2);
    assert_int_equal(facts.n_tokens, 0);
    assert_int_equal(facts.bytes_per_token, 2 * (3 * 34 + 24 * 2));
    assert_int_equal(ggufx_kv_clear(kv, NULL), GGUFX_OK);
    assert_int_equal(ggufx_kv_stats(&facts, kv, GGUFX_KV_ALL_LAYERS, NULL), GGUFX_OK);
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
        cmocka_unit_test(test_f32_keeps_every_bit),
        cmocka_unit_test(test_f16_keeps_every_finite_half_and_rounds_to_nearest_even),
        cmocka_unit_test(test_bf16_rounds_to_nearest_even),
        cmocka_unit_test(test_q8_0_rounds_ties_away_and_stores_zero_blocks),
        cmocka_unit_test(test_types_are_described_and_found_by_name),
        cmocka_unit_test(test_positions_are_kept_continued_and_may_have_gaps),
        cmocka_unit_test(test_truncating_and_appending_again_gives_the_bits_of_a_fresh_cache),
        cmocka_unit_test(test_length_is_the_shortest_layer_and_rollback_cuts_to_it),
        cmocka_unit_test(test_sequences_and_layers_do_not_see_each_other),
        cmocka_unit_test(test_stats_count_tokens_pages_and_padded_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
