/*
 * Misuse of a KV cache: the right status, a message that names the fault, and no change.
 * SPDX-License-Identifier: MIT
 */
#include "kv_expect.h"
#include "ok.h"

#include <math.h>

static void test_create_refuses_bad_shapes(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options good = kv_shape(2, 4, 8, 8, GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    ggufx_kv_options o;
    ggufx_kv *kv = (ggufx_kv *)&o;
    EXPECT(GGUFX_E_ARGUMENT, "out and rt", ggufx_kv_create(NULL, rt, &good, error));
    EXPECT(GGUFX_E_ARGUMENT, "out and rt", ggufx_kv_create(&kv, NULL, &good, error));
    assert_null(kv);
    EXPECT(GGUFX_E_ARGUMENT, "options", ggufx_kv_create(&kv, rt, NULL, error));
#define BAD(field, value, status, text)                                                            \
    do {                                                                                           \
        o = good;                                                                                  \
        o.field = value;                                                                           \
        kv = (ggufx_kv *)&o;                                                                       \
        EXPECT(status, text, ggufx_kv_create(&kv, rt, &o, error));                                 \
        assert_null(kv);                                                                           \
    } while (0)
    BAD(n_layers, 0, GGUFX_E_ARGUMENT, "n_layers");
    BAD(n_kv_heads, 0, GGUFX_E_ARGUMENT, "n_kv_heads");
    BAD(n_q_heads, 3, GGUFX_E_ARGUMENT, "n_q_heads");
    BAD(n_q_heads, 0, GGUFX_E_ARGUMENT, "n_q_heads");
    BAD(head_dim_k, 0, GGUFX_E_ARGUMENT, "head_dim_k");
    BAD(type_k, 77, GGUFX_E_TYPE, "ggufx_kv_options.type_k: type 77, unknown,");
    BAD(type_v, 77, GGUFX_E_TYPE, "ggufx_kv_options.type_v: type 77, unknown,");
    BAD(flags, 128, GGUFX_E_ARGUMENT, "flags");
    BAD(flags, GGUFX_KV_CENTRE_ALL | GGUFX_KV_CENTRE_NONE, GGUFX_E_ARGUMENT, "exclude each other");
    BAD(n_sink_tokens, 65, GGUFX_E_ARGUMENT, "n_sink_tokens");
    BAD(rope_style, 4, GGUFX_E_ARGUMENT, "rope_style");
    BAD(n_layer_options, 2, GGUFX_E_ARGUMENT, "n_layer_options");
    BAD(n_layer_options, 1, GGUFX_E_ARGUMENT, "n_layer_options");
    BAD(type_k, GGUFX_TYPE_GX3, GGUFX_E_ARGUMENT, "multiple of 16"); /* heads of 8 */
    o = good;
    o.rope_style = GGUFX_ROPE_INTERLEAVED;
    o.rope_dims = 7;
    EXPECT(GGUFX_E_ARGUMENT, "rope_dims", ggufx_kv_create(&kv, rt, &o, error));
    o.rope_dims = 10;
    EXPECT(GGUFX_E_ARGUMENT, "rope_dims", ggufx_kv_create(&kv, rt, &o, error));
    o.rope_dims = 0;
    o.rope_base = -1;
    EXPECT(GGUFX_E_ARGUMENT, "rope_base", ggufx_kv_create(&kv, rt, &o, error));
    o = good;
    o.head_dim_k = 1056;
    o.type_k = GGUFX_TYPE_Q4_0;
    EXPECT(GGUFX_E_ARGUMENT, "at most 1024", ggufx_kv_create(&kv, rt, &o, error));
    ggufx_kv_layer_options layer = kv_window(0, 1);
    o = good;
    o.layers = &layer;
    o.n_layer_options = 1;
    EXPECT(GGUFX_E_ARGUMENT, "window_kind", ggufx_kv_create(&kv, rt, &o, error));
    layer.window_kind = 0;
    layer.type_v = 99;
    EXPECT(GGUFX_E_TYPE, "ggufx_kv_layer_options.type_v: type 99",
           ggufx_kv_create(&kv, rt, &o, error));
    uint64_t bytes = 1;
    EXPECT(GGUFX_E_TYPE, "99", ggufx_kv_estimate(&bytes, rt, &o, 100, error));
    assert_int_equal(bytes, 0);
    EXPECT(GGUFX_E_ARGUMENT, "out and rt", ggufx_kv_estimate(NULL, rt, &good, 100, error));
    EXPECT(GGUFX_E_ARGUMENT, "2^64 bytes", ggufx_kv_estimate(&bytes, rt, &good, UINT64_MAX, error));
    BAD(struct_size, 4, GGUFX_E_ARGUMENT, "struct_size");
    o = good;
    o.n_kv_heads = o.n_q_heads = o.head_dim_k = o.head_dim_v = UINT32_MAX;
    EXPECT(GGUFX_E_ARGUMENT, "too large", ggufx_kv_create(&kv, rt, &o, error));
    o = good;
    o.n_layers = o.n_sequences = UINT32_MAX;
    EXPECT(GGUFX_E_LIMIT, "4194304", ggufx_kv_create(&kv, rt, &o, error));
    BAD(n_layers, UINT32_MAX, GGUFX_E_LIMIT, "4294967295 layers");
    BAD(n_sequences, (1u << 22) / good.n_layers + 1, GGUFX_E_LIMIT, "4194304");
    EXPECT(GGUFX_E_LIMIT, "4194304", ggufx_kv_estimate(&bytes, rt, &o, 1, error));
    ggufx_runtime_destroy(rt);
}

static void test_append_refuses_bad_arguments_and_changes_nothing(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    ggufx_kv_options shape = kv_shape(2, 2, 4, 6, GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    shape.n_layers = 2;
    shape.n_sequences = 3;
    shape.max_tokens = 5;
    ggufx_kv *kv = kv_make(rt, &shape);
    float *k = kv_random(80, 1), *v = kv_random(80, 2);
    const int32_t down[2] = {5, 4}, before[2] = {1, 1}, last[2] = {INT32_MAX, INT32_MAX};
    const int32_t two[2] = {2, 2};
    kv_fill(kv, &shape, 0, 2, 2, two, k, v);
    EXPECT(GGUFX_E_ARGUMENT, "live cache",
           kv_append_rows(NULL, 0, 0, 2, NULL, k, 16, v, 24, error));
    EXPECT(GGUFX_E_ARGUMENT, "layer 2", kv_append_rows(kv, 2, 0, 2, NULL, k, 16, v, 24, error));
    EXPECT(GGUFX_E_ARGUMENT, "sequence 3", kv_append_rows(kv, 0, 3, 2, NULL, k, 16, v, 24, error));
    EXPECT(GGUFX_E_ARGUMENT, "n_k is 15", kv_append_rows(kv, 0, 0, 2, NULL, k, 15, v, 24, error));
    EXPECT(GGUFX_E_ARGUMENT, "n_v is 25", kv_append_rows(kv, 0, 0, 2, NULL, k, 16, v, 25, error));
    EXPECT(GGUFX_E_ARGUMENT, "k must", kv_append_rows(kv, 0, 0, 2, NULL, NULL, 16, v, 24, error));
    EXPECT(GGUFX_E_ARGUMENT, "v must", kv_append_rows(kv, 0, 0, 2, NULL, k, 16, NULL, 24, error));
    EXPECT(GGUFX_E_ARGUMENT, "n_k is 8",
           kv_append_rows(kv, 0, 0, SIZE_MAX, NULL, k, 8, v, 12, error));
    EXPECT(GGUFX_E_ARGUMENT, "positions[1] is 4 after 5",
           kv_append_rows(kv, 0, 0, 2, down, k, 16, v, 24, error));
    assert_int_equal(last_index, 1);
    EXPECT(GGUFX_E_ARGUMENT, "positions[0] is 1 after 2",
           kv_append_rows(kv, 0, 0, 2, before, k, 16, v, 24, error));
    EXPECT(GGUFX_E_CAPACITY, "max_tokens of the cache is 5",
           kv_append_rows(kv, 0, 0, 4, NULL, k, 32, v, 48, error));
    uint64_t length = 0;
    int32_t positions[2];
    OK(ggufx_kv_positions(positions, kv, 0, 0, 2, ok_error()));
    assert_memory_equal(positions, two, sizeof two);
    EXPECT(GGUFX_E_ARGUMENT, "tokens 0 + 3", ggufx_kv_positions(positions, kv, 0, 0, 3, error));
    OK(kv_append_rows(kv, 0, 1, 2, last, k, 16, v, 24, ok_error()));
    EXPECT(GGUFX_E_ARGUMENT, "largest position",
           kv_append_rows(kv, 0, 1, 1, NULL, k, 8, v, 12, error));
    OK(kv_append_rows(kv, 0, 0, 0, NULL, NULL, 0, NULL, 0, ok_error()));
    kv_fill(kv, &shape, 0, 3, 3, NULL, k, v); /* exactly full */
    EXPECT(GGUFX_E_CAPACITY, "max_tokens", kv_append_rows(kv, 0, 0, 1, NULL, k, 8, v, 12, error));
    EXPECT(GGUFX_E_CAPACITY, "max_tokens", ggufx_kv_reserve(kv, 0, 6, error));
    EXPECT(GGUFX_E_ARGUMENT, "sequence 3", ggufx_kv_reserve(kv, 3, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "live", ggufx_kv_reserve(NULL, 0, 1, error));
    OK(ggufx_kv_length(&length, kv, 0, ok_error()));
    assert_int_equal(length, 0); /* layer 1 has none */
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(k);
    free(v);
}

static void test_values_that_a_stream_cannot_hold_are_refused_with_their_index(void **state) {
    (void)state;
    static const struct {
        uint32_t type;
        float largest, refused;
    } limits[] = {{GGUFX_TYPE_F32, 0x1.fffffep127f, INFINITY},
                  {GGUFX_TYPE_F16, 65504.0f, 65504.004f},
                  {GGUFX_TYPE_BF16, 0x1.fefffep127f, 0x1.ffp127f},
                  {GGUFX_TYPE_Q8_0, 65504.0f, 65504.004f}};
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    for (size_t i = 0; i < 4; i++) {
        const ggufx_kv_options shape = kv_shape(1, 1, 300, 10, limits[i].type, limits[i].type);
        ggufx_kv *kv = kv_make(rt, &shape);
        float *k = kv_random(600, 1), *v = kv_random(20, 2), back[10];
        const float bad[] = {NAN, -INFINITY, limits[i].refused, -limits[i].refused};
        for (size_t j = 0; j < 4; j++) {
            k[577] = bad[j];
            EXPECT(GGUFX_E_VALUE, "k[277] of token 1 ",
                   kv_append_rows(kv, 0, 0, 2, NULL, k, 600, v, 20, error));
            assert_int_equal(last_index, 1);
            k[577] = 0;
            v[19] = bad[j];
            EXPECT(GGUFX_E_VALUE, "v[9] of token 1 ",
                   kv_append_rows(kv, 0, 0, 2, NULL, k, 600, v, 20, error));
            assert_int_equal(last_index, 1);
            v[19] = 0;
        }
        uint64_t length = 99;
        OK(ggufx_kv_length(&length, kv, 0, ok_error()));
        assert_int_equal(length, 0);
        k[577] = limits[i].largest;
        v[19] = -limits[i].largest;
        kv_fill(kv, &shape, 0, 2, 2, NULL, k, v);
        OK(kv_read_rows(NULL, 0, back, 10, kv, 0, 0, 1, 1, ok_error()));
        assert_true(isfinite(back[9]) && back[9] < -1);
        ggufx_kv_destroy(kv);
        free(k);
        free(v);
    }
    ggufx_runtime_destroy(rt);
}

static void test_questions_refuse_bad_arguments(void **state) {
    (void)state;
    ggufx_runtime *rt = kv_runtime(NULL, 1, NULL);
    const ggufx_kv_options shape = kv_shape(1, 2, 4, 6, GGUFX_TYPE_F32, GGUFX_TYPE_F32);
    ggufx_kv *kv = kv_make(rt, &shape);
    float *k = kv_random(80, 1), out[24];
    int32_t position[2] = {0, 0};
    uint64_t n = 0;
    kv_fill(kv, &shape, 0, 2, 2, NULL, k, k);
    ggufx_attend_options options = {.struct_size = sizeof options};
#define ATTEND(n_out, cache, layer, sequence, q, n_q, n_queries)                                   \
    kv_attend_rows(out, n_out, NULL, 0, cache, layer, sequence, q, n_q, n_queries, NULL, &options, \
                   error)
    EXPECT(GGUFX_E_ARGUMENT, "live", ATTEND(12, NULL, 0, 0, k, 8, 1));
    EXPECT(GGUFX_E_ARGUMENT, "layer 1", ATTEND(12, kv, 1, 0, k, 8, 1));
    EXPECT(GGUFX_E_ARGUMENT, "sequence 1", ATTEND(12, kv, 0, 1, k, 8, 1));
    EXPECT(GGUFX_E_ARGUMENT, "q has 9", ATTEND(12, kv, 0, 0, k, 9, 1));
    EXPECT(GGUFX_E_ARGUMENT, "out has 11", ATTEND(11, kv, 0, 0, k, 8, 1));
    EXPECT(GGUFX_E_ARGUMENT, "q must", ATTEND(12, kv, 0, 0, NULL, 8, 1));
    EXPECT(GGUFX_E_ARGUMENT, "out must",
           kv_attend_rows(NULL, 12, NULL, 0, kv, 0, 0, k, 8, 1, NULL, NULL, error));
    EXPECT(GGUFX_E_ARGUMENT, "3 queries without positions", ATTEND(36, kv, 0, 0, k, 24, 3));
    options.flags = 2;
    EXPECT(GGUFX_E_ARGUMENT, "flags", ATTEND(12, kv, 0, 0, k, 8, 1));
    options.flags = 0;
    options.scale = NAN;
    EXPECT(GGUFX_E_ARGUMENT, "scale", ATTEND(12, kv, 0, 0, k, 8, 1));
    options.scale = 0;
    OK(kv_attend_rows(NULL, 0, NULL, 0, kv, 0, 0, NULL, 0, 0, NULL, NULL, ok_error()));
    EXPECT(GGUFX_E_ARGUMENT, "live", kv_read_rows(out, 4, NULL, 0, NULL, 0, 0, 0, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "k has 5", kv_read_rows(out, 5, NULL, 0, kv, 0, 0, 0, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "v has 5", kv_read_rows(NULL, 0, out, 5, kv, 0, 0, 0, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "tokens 1 + 2", kv_read_rows(out, 8, NULL, 0, kv, 0, 0, 1, 2, error));
    EXPECT(GGUFX_E_ARGUMENT, "tokens 18446744073709551615",
           kv_read_rows(out, 4, NULL, 0, kv, 0, 0, UINT64_MAX, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "layer 1", kv_read_rows(out, 4, NULL, 0, kv, 1, 0, 0, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "sequence 1", kv_read_rows(out, 4, NULL, 0, kv, 0, 1, 0, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "live", ggufx_kv_length(&n, NULL, 0, error));
    EXPECT(GGUFX_E_ARGUMENT, "out", ggufx_kv_length(NULL, kv, 0, error));
    EXPECT(GGUFX_E_ARGUMENT, "sequence 9", ggufx_kv_length(&n, kv, 9, error));
    EXPECT(GGUFX_E_ARGUMENT, "live", ggufx_kv_positions(position, NULL, 0, 0, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "out", ggufx_kv_positions(NULL, kv, 0, 0, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "sequence 9", ggufx_kv_positions(position, kv, 9, 0, 1, error));
    EXPECT(GGUFX_E_ARGUMENT, "live", ggufx_kv_truncate(NULL, 0, 0, error));
    EXPECT(GGUFX_E_ARGUMENT, "truncate to 3", ggufx_kv_truncate(kv, 0, 3, error));
    EXPECT(GGUFX_E_ARGUMENT, "sequence 9", ggufx_kv_truncate(kv, 9, 0, error));
    EXPECT(GGUFX_E_ARGUMENT, "live", ggufx_kv_rollback(NULL, 0, error));
    EXPECT(GGUFX_E_ARGUMENT, "sequence 9", ggufx_kv_rollback(kv, 9, error));
    EXPECT(GGUFX_E_ARGUMENT, "live", ggufx_kv_clear(NULL, error));
    ggufx_kv_facts facts = {.struct_size = sizeof facts};
    EXPECT(GGUFX_E_ARGUMENT, "kv", ggufx_kv_info(&facts, NULL, GGUFX_KV_ALL_LAYERS, error));
    EXPECT(GGUFX_E_ARGUMENT, "out", ggufx_kv_info(NULL, kv, GGUFX_KV_ALL_LAYERS, error));
    facts.struct_size = 0;
    EXPECT(GGUFX_E_ARGUMENT, "struct_size", ggufx_kv_info(&facts, kv, GGUFX_KV_ALL_LAYERS, error));
    ggufx_kv_destroy(NULL);
    ggufx_kv_destroy(kv);
    ggufx_runtime_destroy(rt);
    free(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_create_refuses_bad_shapes),
        cmocka_unit_test(test_append_refuses_bad_arguments_and_changes_nothing),
        cmocka_unit_test(test_values_that_a_stream_cannot_hold_are_refused_with_their_index),
        cmocka_unit_test(test_questions_refuse_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
