/*
 * ggufx_kv_requantize: converts the contents of a cache to other types. If the pages are where
 * appends would place them, the result is bit-identical to that of appends.
 * SPDX-License-Identifier: MIT
 */
#include "kv_requantized.h"
#include "kv_types.h"
#include "ok.h"

#include <math.h>

enum { kLong = 1100 };

static void test_floats_become_what_appends_would_have_made(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL), *four = kv_runtime(NULL, 4, NULL);
    for (size_t i = 0; i < 2 * kTypeCount; i++) {
        const size_t t = i / 2;
        const uint32_t type_k = kTypes[t], type_v = kTypes[(t + 5) % kTypeCount];
        ggufx_kv_options want_shape = shape_of(type_k, type_v, 1), shape = want_shape;
        want_shape.n_layers = shape.n_layers = 2;
        /* pages begin at 0, 64, ... */
        want_shape.n_sink_tokens = shape.n_sink_tokens = i % 2 ? 64 : GGUFX_KV_NO_SINK_TOKENS;
        shape.type_k = GGUFX_TYPE_F32;
        shape.type_v = GGUFX_TYPE_F32;
        ggufx_kv *want = kv_filled_to(rt, &want_shape, kLong);
        ggufx_kv *kv = kv_filled_to(t % 2 ? rt : four, &shape, kLong);
        kv_requantize_to(kv, GGUFX_KV_ALL_LAYERS, type_k, type_v);
        kv_bytes a = kv_saved(want, 0), b = kv_saved(kv, 0);
        kv_assert_same(&a, &b);
        OK(ggufx_kv_compact(want, 0, NULL, ok_error())); /* drops spare pages */
        const ggufx_kv_facts f = facts_of(want), g = facts_of(kv);
        assert_memory_equal(&f, &g, sizeof f);
        ggufx_kv_destroy(want);
        ggufx_kv_destroy(kv);
        free(a.data);
        free(b.data);
    }
    ggufx_runtime_destroy(rt);
    ggufx_runtime_destroy(four);
}

/* Largest relative mean squared error that a conversion to this type may add to these values. */
static double loss_of(uint32_t type) {
    switch (type) {
    case GGUFX_TYPE_F32:
        return 0;
    case GGUFX_TYPE_F16:
        return 1e-7;
    case GGUFX_TYPE_BF16:
        return 1e-5;
    case GGUFX_TYPE_Q8_0:
        return 1e-4;
    case GGUFX_TYPE_Q5_1:
    case GGUFX_TYPE_Q5_0:
    case GGUFX_TYPE_ROT_Q5_0:
        return 0.003;
    case GGUFX_TYPE_TQ3_0:
        return 0.25;
    case GGUFX_TYPE_TQ3_0_RESIDUAL:
        return 0.12; /* values at the levels of TQ3_0 */
    case GGUFX_TYPE_GX2:
        return 0.15;
    case GGUFX_TYPE_GX3:
        return 0.05;
    default:
        return 0.015;
    }
}

static double relative_error(const float *x, const float *want, size_t n) {
    double error = 0, square = 0;
    for (size_t i = 0; i < n; i++) {
        error += ((double)x[i] - (double)want[i]) * ((double)x[i] - (double)want[i]);
        square += (double)want[i] * (double)want[i];
    }
    return error / square;
}

static void test_every_step_loses_what_its_type_loses(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    enum { kAll = kTokens * kRow };
    static float k[2][kAll], v[2][kAll];
    for (size_t from = 0; from < kTypeCount; from += 2)
        for (size_t t = 0; t < kTypeCount; t++) {
            const uint32_t type = kTypes[t];
            const ggufx_kv_options shape = shape_of(kTypes[from], kTypes[from], 1);
            ggufx_kv *kv = kv_filled(rt, &shape);
            read_all(kv, 0, 0, kTokens, k[0], v[0]);
            const double v_error = facts_of(kv).v_error;
            kv_requantize_to(kv, 0, type, GGUFX_TYPE_KEEP);
            assert_true(facts_of(kv).v_error == v_error);
            read_all(kv, 0, 0, kTokens, k[1], v[1]);
            assert_memory_equal(v[0], v[1], sizeof v[0]);
            const ggufx_kv_facts facts = facts_of(kv);
            assert_int_equal(facts.n_tokens, kTokens);
            double error = relative_error(k[1], k[0], kAll);
            const double most = from == t ? 0 : loss_of(type);
            if (error > most) fail_msg("keys %u to %u: error %g", kTypes[from], type, error);
            memcpy(k[0], k[1], sizeof k[0]);
            kv_requantize_to(kv, GGUFX_KV_ALL_LAYERS, GGUFX_TYPE_KEEP, type);
            read_all(kv, 0, 0, kTokens, k[1], v[1]);
            assert_memory_equal(k[0], k[1], sizeof k[0]);
            error = relative_error(v[1], v[0], kAll);
            if (error > most) fail_msg("values %u to %u: error %g", kTypes[from], type, error);
            ggufx_kv_facts one = {.struct_size = sizeof one};
            OK(ggufx_kv_info(&one, kv, 0, ok_error()));
            assert_int_equal(one.type_k, type);
            assert_int_equal(one.type_v, type);
            ggufx_kv_destroy(kv);
        }
    ggufx_runtime_destroy(rt);
}

/* The first and the last tokens stay F16 and read back unchanged. */
static void test_sinks_and_the_last_tokens_stay_exact(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    static float k[2][(kTokens + 100) * kRow], v[2][(kTokens + 100) * kRow];
    ggufx_kv_options shape = shape_of(GGUFX_TYPE_F16, GGUFX_TYPE_F16, 1);
    shape.n_sink_tokens = 7;
    for (size_t n = 1; n < kTokens; n += n < 10 ? 1 : 53) {
        ggufx_kv *kv = kv_filled(rt, &shape);
        OK(ggufx_kv_truncate(kv, 0, n, ok_error()));
        read_all(kv, 0, 0, n, k[0], v[0]);
        OK(ggufx_kv_reserve(kv, 0, 600, ok_error()));
        kv_requantize_to(kv, 0, GGUFX_TYPE_GX2, GGUFX_TYPE_GX2);
        /* the tokens' pages: no spare page of the old types is left */
        const uint64_t pages = n <= 7 ? 1 : 1 + (n + 63) / 64;
        assert_int_equal(facts_of(kv).n_pages, pages);
        read_all(kv, 0, 0, n, k[1], v[1]);
        const size_t full = n / 64 * 64, head = n < 7 ? n : 7;
        assert_memory_equal(k[0], k[1], head * kRow * sizeof(float));
        if (full < n)
            assert_memory_equal(v[0] + full * kRow, v[1] + full * kRow,
                                (n - full) * kRow * sizeof(float));
        if (full > 7) assert_true(memcmp(k[0], k[1], full * kRow * sizeof(float)) != 0);
        /* the sequence continues, and its page is quantized when it is full */
        float *x = kv_random(100 * kRow, 4);
        OK(kv_append_rows(kv, 0, 0, 100, NULL, x, 100 * kRow, x, 100 * kRow, ok_error()));
        read_all(kv, 0, 0, n + 100, k[1], v[1]);
        assert_memory_equal(k[0], k[1], head * kRow * sizeof(float));
        free(x);
        ggufx_kv_destroy(kv);
    }
    ggufx_runtime_destroy(rt);
}

static void test_shared_pages_stay_shared_and_apart(void **state) {
    (void)state;
    kv_memory memory = {0, 0, 0};
    ggufx_runtime *rt = kv_runtime(&memory, 1, NULL);
    static const uint32_t from[] = {GGUFX_TYPE_F16, GGUFX_TYPE_GX4, GGUFX_TYPE_F32,
                                    GGUFX_TYPE_Q8_0};
    static const uint32_t next[] = {GGUFX_TYPE_GX3, GGUFX_TYPE_Q4_0, GGUFX_TYPE_BF16,
                                    GGUFX_TYPE_F32};
    static float k[2][kTokens * kRow], v[2][kTokens * kRow];
    static int32_t positions[2][kTokens];
    for (size_t t = 0; t < 4; t++) {
        const long live = memory.live;
        ggufx_kv *kv = kv_shared(rt, from[t]), *loaded = NULL;
        const ggufx_kv_facts before = facts_of(kv);
        const uint64_t n = length_of(kv, 1);
        OK(ggufx_kv_positions(positions[0], kv, 1, 0, n, ok_error()));
        kv_requantize_to(kv, GGUFX_KV_ALL_LAYERS, next[t], next[t]);
        const ggufx_kv_facts after = facts_of(kv);
        /* at most a page of sinks per layer, held by all three sequences */
        assert_in_range(after.n_pages, 1, before.n_pages + 2);
        assert_in_range(after.n_shared_pages, before.n_shared_pages, before.n_shared_pages + 6);
        if (after.bits_per_value < before.bits_per_value)
            assert_true(after.page_bytes < before.page_bytes);
        OK(ggufx_kv_positions(positions[1], kv, 1, 0, n, ok_error()));
        assert_memory_equal(positions[0], positions[1], n * sizeof **positions);
        assert_int_equal(length_of(kv, 0), kTokens);
        /* appends and truncations of one do not affect the other */
        read_all(kv, 1, 0, n, k[0], v[0]);
        float *x = kv_random(70 * kRow, 4);
        for (uint32_t layer = 0; layer < 2; layer++)
            OK(kv_append_rows(kv, layer, 0, 70, NULL, x, 70 * kRow, x, 70 * kRow, ok_error()));
        OK(ggufx_kv_truncate(kv, 2, 5, ok_error()));
        OK(ggufx_kv_remove(kv, 0, 0, 100, ok_error()));
        read_all(kv, 1, 0, n, k[1], v[1]);
        assert_memory_equal(k[0], k[1], n * kRow * sizeof(float));
        assert_memory_equal(v[0], v[1], n * kRow * sizeof(float));
        /* a cache of the new types loads its snapshot */
        ggufx_kv_options shape = shape_of(next[t], next[t], 3);
        shape.n_layers = 2;
        loaded = kv_make(rt, &shape);
        kv_bytes saved = kv_saved(kv, GGUFX_ALL_SEQUENCES);
        OK(ggufx_kv_load(loaded, GGUFX_ALL_SEQUENCES, kv_bytes_read, &saved, ok_error()));
        read_all(loaded, 1, 0, n, k[1], v[1]);
        assert_memory_equal(k[0], k[1], n * kRow * sizeof(float));
        free(saved.data);
        free(x);
        ggufx_kv_destroy(kv);
        ggufx_kv_destroy(loaded);
        assert_int_equal(memory.live, live);
    }
    ggufx_runtime_destroy(rt);
    assert_int_equal(memory.live, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floats_become_what_appends_would_have_made),
        cmocka_unit_test(test_every_step_loses_what_its_type_loses),
        cmocka_unit_test(test_sinks_and_the_last_tokens_stay_exact),
        cmocka_unit_test(test_shared_pages_stay_shared_and_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
