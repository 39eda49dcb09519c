/*
 * Stored bits of a vector in a KV cache, and descriptions of its types.
 * SPDX-License-Identifier: MIT
 */
#include "kv_fixture.h"
#include "ok.h"

#include <math.h>

/* Stores n floats as one head of the first token (keys; values likewise) of a page that is
 * quantized if the type is, and reads them back. */
static void store(float *out_k, float *out_v, uint32_t type, const float *x, uint32_t n) {
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(1, 1, n, n, type, type);
    shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
    ggufx_kv *kv = kv_make(rt, &shape);
    for (size_t i = 0; i < (kv_is_float(type) ? 1 : 65); i++)
        kv_fill(kv, &shape, 0, 1, 1, NULL, x, x);
    OK(kv_read_rows(out_k, n, out_v, n, kv, 0, 0, 0, 1, ok_error()));
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
    check_stored(GGUFX_TYPE_F32, x, x, 7);
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
    check_stored(GGUFX_TYPE_F16, halves, halves, 2 * 31744);
    free(halves);
    const float x[] = {1.0f + 0x1p-11f, 1.0f + 3 * 0x1p-11f, 1.0f + 0x1.002p-11f,
                       0x1p-25f,        0x1.000002p-25f,     -3 * 0x1p-25f,
                       65504.0f,        -65504.0f,           2047.5f * 0x1p-5f};
    const float want[] = {1.0f,      1.0f + 0x1p-9f, 1.0f + 0x1p-10f, 0.0f, 0x1p-24f,
                          -0x1p-23f, 65504.0f,       -65504.0f,       64.0f};
    check_stored(GGUFX_TYPE_F16, x, want, 9);
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
    check_stored(GGUFX_TYPE_BF16, x, want, 7);
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
    check_stored(GGUFX_TYPE_Q8_0, x, want, 40); /* the second block: 8 zeros and padding */

    /* amax 1: the stored scale is f16(1/127) = 0x2008, the codes use the unrounded 1/127:
     * 1927/2048 * 127 = 119.497 is code 119 (with the rounded scale it would be 120). */
    const float d = 0x1.02p-7f;
    const float y[] = {1.0f, -1.0f, 0.5f, 1927 / 2048.0f, 0.0f};
    const float wanted[] = {127 * d, -127 * d, 64 * d, 119 * d, 0.0f};
    check_stored(GGUFX_TYPE_Q8_0, y, wanted, 5);

    /* Scales down to f16 subnormals and zero; the largest scale. */
    const float tiny[] = {127 * 0x1p-24f, 0x1p-24f};
    check_stored(GGUFX_TYPE_Q8_0, tiny, tiny, 2);
    const float vanishing[] = {1e-8f, -1e-40f}, zeros[] = {0.0f, 0.0f};
    float back[2], same[2];
    store(back, same, GGUFX_TYPE_Q8_0, vanishing, 2);
    assert_true(back[0] == zeros[0] && back[1] == zeros[1]);
    const float large[] = {65504.0f, -65504.0f}, stored[] = {127 * 516.0f, -127 * 516.0f};
    check_stored(GGUFX_TYPE_Q8_0, large, stored, 2);
}

static void test_types_are_described_and_found_by_name(void **state) {
    (void)state;
    static const struct {
        uint32_t id, flags, values, bytes;
        const char *name, *given;
    } types[] = {{GGUFX_TYPE_F32, GGUFX_TYPE_IS_FLOAT, 1, 4, "f32", "F32"},
                 {GGUFX_TYPE_BF16, GGUFX_TYPE_IS_FLOAT, 1, 2, "bf16", "Bf16"},
                 {GGUFX_TYPE_Q8_0, GGUFX_TYPE_IS_QUANTIZED, 32, 34, "q8_0", "Q8_0"},
                 {GGUFX_TYPE_ROT_Q4_0, GGUFX_TYPE_IS_QUANTIZED, 32, 18, "rot_q4_0", "ROT_q4_0"},
                 {GGUFX_TYPE_GX4, GGUFX_TYPE_IS_QUANTIZED, 0, 0, "gx4", "GX4"}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const uint32_t cached_only = types[i].id >= GGUFX_TYPE_ROT_Q5_0;
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        uint32_t id = 99;
        OK(ggufx_type_info(&facts, types[i].id, ok_error()));
        assert_int_equal(facts.id, types[i].id);
        assert_int_equal(facts.flags & (GGUFX_TYPE_IS_FLOAT | GGUFX_TYPE_IS_QUANTIZED),
                         types[i].flags);
        assert_true(facts.flags & GGUFX_TYPE_IN_CACHES);
        assert_int_equal((facts.flags & GGUFX_TYPE_IN_FILES) == 0, cached_only);
        assert_int_equal(facts.block_values, types[i].values);
        assert_int_equal(facts.block_bytes, types[i].bytes);
        assert_string_equal(facts.name, types[i].name);
        OK(ggufx_type_find(&id, types[i].given, ok_error()));
        assert_int_equal(id, types[i].id);
    }
    ggufx_type_facts facts = {.struct_size = sizeof facts};
    ggufx_error error;
    OK(ggufx_type_info(&facts, GGUFX_TYPE_Q4_K, ok_error()));
    assert_false(facts.flags & GGUFX_TYPE_IN_CACHES);
    assert_int_equal(ggufx_type_info(&facts, GGUFX_TYPE_GX4 + 1, &error), GGUFX_E_TYPE);
    uint64_t bytes = 1;
    assert_int_equal(ggufx_type_row_bytes(&bytes, GGUFX_TYPE_GX4, 64, &error), GGUFX_E_TYPE);
    assert_non_null(strstr(error.message, "gx4"));
    uint32_t id = 99;
    assert_int_equal(ggufx_type_find(&id, "rot_q4_00", &error), GGUFX_E_NOT_FOUND);
    assert_non_null(strstr(error.message, "\"rot_q4_0\""));
    assert_int_equal(id, 0);
}

/* Every type of caches keeps its id through a cache; others are refused. */
static void test_caches_take_the_types_that_say_so(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    unsigned n = 0;
    for (uint32_t id = 0; id <= GGUFX_TYPE_GX4 + 1; id++) {
        ggufx_type_facts facts = {.struct_size = sizeof facts};
        const int known = ggufx_type_info(&facts, id, NULL) == GGUFX_OK;
        const ggufx_kv_options shape = kv_shape(1, 1, 32, 32, id, id);
        ggufx_kv *kv = NULL;
        ggufx_error error;
        const ggufx_status status = ggufx_kv_create(&kv, rt, &shape, &error);
        if (!known || !(facts.flags & GGUFX_TYPE_IN_CACHES)) {
            assert_int_equal(status, GGUFX_E_TYPE);
            assert_non_null(strstr(error.message, known ? facts.name : "is no type of KV caches"));
            assert_int_equal(error.value, id);
            continue;
        }
        assert_int_equal(status, GGUFX_OK);
        ggufx_kv_facts of = {.struct_size = sizeof of};
        OK(ggufx_kv_info(&of, kv, 0, ok_error()));
        assert_int_equal(of.type_k, id);
        assert_int_equal(of.type_v, id);
        ggufx_kv_destroy(kv);
        n++;
    }
    assert_int_equal(n, 17);
    ggufx_runtime_destroy(rt);
}

/* 0 is F32 with the flags, and F16 without them. */
static void test_types_that_are_not_given_are_f16(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    for (uint32_t flags = 0; flags < 4; flags++) {
        ggufx_kv_options shape = kv_shape(1, 1, 32, 32, 0, 0);
        shape.flags = flags * GGUFX_KV_HAS_TYPE_K;
        ggufx_kv *kv = kv_make(rt, &shape);
        ggufx_kv_facts of = {.struct_size = sizeof of};
        OK(ggufx_kv_info(&of, kv, 0, ok_error()));
        assert_int_equal(of.type_k, flags & 1 ? GGUFX_TYPE_F32 : GGUFX_TYPE_F16);
        assert_int_equal(of.type_v, flags & 2 ? GGUFX_TYPE_F32 : GGUFX_TYPE_F16);
        ggufx_kv_destroy(kv);
    }
    ggufx_kv_options shape = kv_shape(1, 1, 32, 32, GGUFX_TYPE_Q8_0, GGUFX_TYPE_GX4);
    shape.flags = 0; /* other types need no flag */
    ggufx_kv *kv = kv_make(rt, &shape);
    ggufx_kv_facts of = {.struct_size = sizeof of};
    OK(ggufx_kv_info(&of, kv, 0, ok_error()));
    assert_int_equal(of.type_k, GGUFX_TYPE_Q8_0);
    assert_int_equal(of.type_v, GGUFX_TYPE_GX4);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f32_keeps_every_bit),
        cmocka_unit_test(test_f16_keeps_every_finite_half_and_rounds_to_nearest_even),
        cmocka_unit_test(test_bf16_rounds_to_nearest_even),
        cmocka_unit_test(test_q8_0_rounds_ties_away_and_stores_zero_blocks),
        cmocka_unit_test(test_types_are_described_and_found_by_name),
        cmocka_unit_test(test_caches_take_the_types_that_say_so),
        cmocka_unit_test(test_types_that_are_not_given_are_f16),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
