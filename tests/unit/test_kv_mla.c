/*
 * Values that are the first coordinates of keys (MLA): no memory for values, the same results.
 * SPDX-License-Identifier: MIT
 */
#include "kv_bytes.h"
#include "kv_naive.h"
#include "ok.h"
#include "test_step.h"

static ggufx_kv_options shape_of(uint32_t kv_heads, uint32_t q_heads, uint32_t dk, uint32_t dv,
                                 uint32_t type) {
    ggufx_kv_options shape = kv_shape(kv_heads, q_heads, dk, dv, type, 0);
    shape.flags = GGUFX_KV_V_IN_K | GGUFX_KV_HAS_TYPE_K;
    return shape;
}

static void append(ggufx_kv *kv, const ggufx_kv_options *shape, const float *k, size_t n) {
    const size_t row = (size_t)shape->n_kv_heads * shape->head_dim_k;
    ggufx_error error;
    for (size_t i = 0; i < n; i += 300) {
        const size_t m = n - i < 300 ? n - i : 300;
        if (kv_append_rows(kv, 0, 0, m, NULL, k + i * row, m * row, NULL, 0, &error))
            fail_msg("%s", error.message);
    }
}

static filled fill_keys(const ggufx_runtime *rt, const ggufx_kv_options *shape) {
    const size_t nk = (size_t)kTokens * shape->n_kv_heads * shape->head_dim_k;
    const size_t nv = (size_t)kTokens * shape->n_kv_heads * shape->head_dim_v;
    filled f = {kv_make(rt, shape), kv_random(nk, 5), calloc(nv, sizeof(float))};
    assert_non_null(f.v);
    for (size_t i = 0; i < nk; i++) { /* each channel has its own mean and spread */
        const size_t c = i % shape->head_dim_k;
        f.k[i] = f.k[i] * (c % 5 == 0 ? 4.0f : 0.7f) + (c % 7 == 0 ? 0.5f : 0.0f);
    }
    append(f.kv, shape, f.k, kTokens);
    OK(kv_read_rows(f.k, nk, f.v, nv, f.kv, 0, 0, 0, kTokens, ok_error()));
    for (size_t t = 0; t < (size_t)kTokens * shape->n_kv_heads; t++)
        assert_memory_equal(f.v + t * shape->head_dim_v, f.k + t * shape->head_dim_k,
                            shape->head_dim_v * sizeof(float));
    return f;
}

static void test_every_type_matches_doubles(void **state) {
    ggufx_runtime *rt = *state;
    static const uint32_t shapes[][4] = {
        {2, 6, 96, 64}, {1, 5, 80, 48}, {1, 2, 64, 64}, {1, 18, 576, 512}};
    static const float sinks[6] = {0.5f, 4.0f, -3.0f, 0.0f, 1.0f, 40.0f};
    const mask windowed = {0, 100, 0, NULL, NULL, 0},
               capped = {GGUFX_ATTEND_ALL, 0, 2.0, NULL, sinks, 0};
    for (size_t i = 0; i < 4; i++)
        for (size_t t = i % test_step(); t < kTypeCount; t += test_step()) {
            const uint32_t *s = shapes[i];
            ggufx_kv_options shape = shape_of(s[0], s[1], s[2], s[3], kTypes[t]);
            filled f = fill_keys(rt, &shape);
            shape.type_v = shape.type_k; /* for the tolerance */
            check_attend(&f, &shape, 1, &kPlain);
            if (i < 3) check_attend(&f, &shape, 5, &kPlain);
            if (i == 0) check_attend(&f, &shape, 3, &windowed);
            if (i == 0) check_attend(&f, &shape, 3, &capped);
            release(&f);
        }
}

static uint64_t hash_of(const ggufx_runtime *rt, size_t t, size_t n, size_t at_once) {
    const ggufx_kv_options shape = shape_of(2, 20, 96, 64, kTypes[t]);
    filled f = fill_keys(rt, &shape);
    const size_t rows = n * 20;
    float *q = kv_random(rows * 96, 9), *out = calloc(rows * 64, sizeof *out);
    float *lse = calloc(rows, sizeof *lse);
    assert_true(q && out && lse);
    int32_t at[64];
    for (size_t i = 0; i < n; i++) at[i] = (int32_t)(i * 337 % kTokens);
    for (size_t i = 0; i < n; i += at_once) {
        const size_t count = n - i < at_once ? n - i : at_once;
        kv_attend(out + i * 20 * 64, lse + i * 20, f.kv, &shape, 0, q + i * 20 * 96, count, at + i,
                  0, 0);
    }
    const uint64_t hash = kv_hash(kv_hash(0xcbf29ce484222325u, out, rows * 64), lse, rows);
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

static void test_a_batch_gives_the_bits_of_single_calls(void **state) {
    (void)state;
    enum { kDk = 96, kDv = 64, kHeads = 6, kN = 5 };
    ggufx_runtime *rt = kv_runtime(NULL, 3, NULL);
    ggufx_kv_options shape = shape_of(2, kHeads, kDk, kDv, GGUFX_TYPE_GX4);
    shape.n_sequences = 3;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *k = kv_random(700 * 2 * kDk, 1), *q = kv_random(kN * kHeads * kDk, 2);
    static const size_t lengths[3] = {700, 70, 0};
    for (uint32_t s = 0; s < 3; s++)
        OK(kv_append_rows(kv, 0, s, lengths[s], NULL, k, lengths[s] * 2 * kDk, NULL, 0,
                          ok_error()));
    const uint32_t sequences[kN] = {1, 0, 2, 0, 1};
    const int32_t positions[kN] = {69, 300, 10, 699, 3};
    float batch[kN * kHeads * kDv], lse[kN * kHeads], single[kHeads * kDv], one[kHeads];
    OK(kv_attend_batch(batch, kN * kHeads * kDv, lse, kN * kHeads, kv, 0, sequences, q,
                       kN * kHeads * kDk, kN, positions, NULL, ok_error()));
    for (size_t i = 0; i < kN; i++) {
        kv_attend(single, one, kv, &shape, sequences[i], q + i * kHeads * kDk, 1, positions + i, 0,
                  0);
        assert_memory_equal(single, batch + i * kHeads * kDv, sizeof single);
        assert_memory_equal(one, lse + i * kHeads, sizeof one);
    }
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(k);
    free(q);
}

static uint64_t estimate(const ggufx_runtime *rt, const ggufx_kv_options *shape, uint64_t n) {
    uint64_t bytes = 0;
    OK(ggufx_kv_estimate(&bytes, rt, shape, n, ok_error()));
    return bytes;
}

static void test_values_take_no_memory(void **state) {
    ggufx_runtime *rt = *state;
    for (size_t t = 0; t < kTypeCount; t++) {
        const ggufx_kv_options keys = shape_of(1, 2, 576, 512, kTypes[t]);
        const ggufx_kv_options both = kv_shape(1, 2, 576, 512, kTypes[t], kTypes[t]);
        const uint64_t n = 64 * 1000 + 4;
        const uint64_t a = estimate(rt, &keys, n) - estimate(rt, &keys, 0);
        const uint64_t b = estimate(rt, &both, n) - estimate(rt, &both, 0);
        ggufx_kv *kv = kv_make(rt, &keys), *other = kv_make(rt, &both);
        ggufx_kv_facts facts = {.struct_size = sizeof facts}, whole = facts;
        OK(ggufx_kv_info(&facts, kv, 0, ok_error()));
        OK(ggufx_kv_info(&whole, other, 0, ok_error()));
        assert_int_equal(facts.type_v, kTypes[t]);
        /* the bits per value stay the same: half of the bytes, about half of the values */
        assert_true(fabs(facts.bits_per_value - whole.bits_per_value) < 0.01);
        assert_in_range(facts.bytes_per_token * 1000, whole.bytes_per_token * 528,
                        whole.bytes_per_token * 531);
        assert_in_range(a * 1000, b * 520, b * 540);
        /* the estimate equals the allocations */
        OK(ggufx_kv_reserve(kv, 0, 64 * 3 + 4, ok_error()));
        OK(ggufx_kv_info(&facts, kv, 0, ok_error()));
        const uint64_t table = 16 * 24, want = estimate(rt, &keys, 64 * 3 + 4);
        assert_in_range(facts.page_bytes, want - estimate(rt, &keys, 0) - table,
                        want - estimate(rt, &keys, 0));
        ggufx_kv_destroy(kv);
        ggufx_kv_destroy(other);
    }
}

static void test_the_rest_of_the_calls(void **state) {
    ggufx_runtime *rt = *state;
    enum { kN = 200, kDk = 96, kDv = 64 };
    ggufx_kv_options shape = shape_of(1, 2, kDk, kDv, GGUFX_TYPE_F16);
    shape.rope_style = GGUFX_ROPE_INTERLEAVED;
    shape.n_sink_tokens = GGUFX_KV_NO_SINK_TOKENS;
    float *k = kv_random(kN * kDk, 3), *now = calloc(kN * kDk, sizeof *now);
    float *v = calloc(2 * kN * kDv, sizeof *v);
    assert_true(now && v);
    ggufx_kv *kv = kv_make(rt, &shape), *other = NULL;
    append(kv, &shape, k, kN);
    /* a shift rotates the coordinates after the values */
    OK(kv_read_rows(k, kN * kDk, v, kN * kDv, kv, 0, 0, 0, kN, ok_error()));
    OK(ggufx_kv_shift(kv, 0, 0, kv_rest(kv, 0, 0), 9, ok_error()));
    OK(kv_read_rows(now, kN * kDk, v + kN * kDv, kN * kDv, kv, 0, 0, 0, kN, ok_error()));
    assert_memory_equal(v, v + kN * kDv, kN * kDv * sizeof *v);
    for (size_t t = 0; t < kN; t++) {
        assert_memory_equal(k + t * kDk, now + t * kDk, kDv * sizeof *k);
        assert_memory_not_equal(k + t * kDk + kDv, now + t * kDk + kDv, 32 * sizeof *k);
    }
    OK(ggufx_kv_shift(kv, 0, 0, kv_rest(kv, 0, 0), -9, ok_error()));
    /* other types, with the result of appends; snapshots */
    shape.type_k = GGUFX_TYPE_GX4;
    other = kv_make(rt, &shape);
    append(other, &shape, k, kN);
    OK(ggufx_kv_requantize(kv, GGUFX_KV_ALL_LAYERS, GGUFX_TYPE_GX4, GGUFX_TYPE_KEEP, NULL,
                           ok_error()));
    kv_bytes a = kv_saved(kv, 0), b = kv_saved(other, 0);
    assert_int_equal(a.n, b.n);
    assert_memory_equal(a.data, b.data, a.n);
    assert_int_equal(ggufx_kv_requantize(kv, 0, GGUFX_TYPE_KEEP, GGUFX_TYPE_Q8_0, NULL, NULL),
                     GGUFX_E_ARGUMENT);
    OK(ggufx_kv_load(other, 0, kv_bytes_read, &a, ok_error()));
    ggufx_kv_destroy(other);
    ggufx_kv_options both = shape;
    both.flags = 0;
    both.type_v = GGUFX_TYPE_GX4;
    other = kv_make(rt, &both); /* separate values */
    ggufx_error error;
    a.at = 0;
    assert_int_equal(ggufx_kv_load(other, 0, kv_bytes_read, &a, &error), GGUFX_E_MISMATCH);
    assert_non_null(strstr(error.message, "head_dim_v"));
    ggufx_kv_destroy(other);
    /* batches; values given by the caller */
    const uint32_t sequence = 0;
    const int32_t at = kN;
    OK(kv_append_batch(kv, 0, 1, &sequence, &at, k, kDk, NULL, 0, ok_error()));
    assert_int_equal(kv_append_rows(kv, 0, 0, 1, NULL, k, kDk, k, kDv, &error), GGUFX_E_ARGUMENT);
    assert_int_equal(kv_append_rows(kv, 0, 0, 1, NULL, k, kDk, NULL, kDv, &error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(ggufx_kv_calibrate(kv, 0, NULL, NULL, 0, k, kDv, &error), GGUFX_E_UNSUPPORTED);
    ggufx_kv_destroy(kv);
    /* refusals */
    kv = NULL;
    shape.type_v = GGUFX_TYPE_Q8_0;
    assert_int_equal(ggufx_kv_create(&kv, rt, &shape, &error), GGUFX_E_ARGUMENT);
    shape.type_v = GGUFX_TYPE_GX4;
    shape.head_dim_v = kDk + 1;
    assert_int_equal(ggufx_kv_create(&kv, rt, &shape, &error), GGUFX_E_ARGUMENT);
    shape.head_dim_v = kDv;
    shape.rope_dims = 34;
    assert_int_equal(ggufx_kv_create(&kv, rt, &shape, &error), GGUFX_E_ARGUMENT);
    const ggufx_kv_layer_options layer = {.struct_size = sizeof layer, .type_v = GGUFX_TYPE_F16};
    shape.rope_dims = 32;
    shape.layers = &layer;
    shape.n_layer_options = 1;
    assert_int_equal(ggufx_kv_create(&kv, rt, &shape, &error), GGUFX_E_ARGUMENT);
    assert_null(kv);
    free(a.data);
    free(b.data);
    free(k);
    free(v);
    free(now);
}

static int set_up(void **state) {
    *state = kv_runtime(NULL, 0, NULL);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_type_matches_doubles),
        cmocka_unit_test(test_split_threads_and_instructions_do_not_change_bits),
        cmocka_unit_test(test_a_batch_gives_the_bits_of_single_calls),
        cmocka_unit_test(test_values_take_no_memory),
        cmocka_unit_test(test_the_rest_of_the_calls),
    };
    return cmocka_run_group_tests(tests, set_up, kv_tear_down);
}
