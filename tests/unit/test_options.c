/*
 * Invalid numbers in option structs: refused with the field's name and the value or the limit.
 * (Sizes, unknown flags, extensions and reserved fields: tests/abi/struct_sizes.c, for all
 * structs.)
 * SPDX-License-Identifier: MIT
 */
#include "kv_calls.h"
#include "model_fixture.h"
#include "weight_calls.h"

#include <math.h>
#include <string.h>

/* One field of one struct, and the expected message. */
#define CASE(type, field, value, status, text, call)                                               \
    do {                                                                                           \
        type options = {.struct_size = sizeof options};                                            \
        prepare_##type(&options);                                                                  \
        options.field = (value);                                                                   \
        FAILS(f, status, text, call);                                                              \
    } while (0)

static void prepare_ggufx_session_options(ggufx_session_options *o) {
    (void)o;
}
static void prepare_ggufx_attend_options(ggufx_attend_options *o) {
    (void)o;
}
static void prepare_ggufx_open_options(ggufx_open_options *o) {
    (void)o;
}
static void prepare_ggufx_quantize_args(ggufx_quantize_args *o) {
    (void)o;
}
static void prepare_ggufx_writer_options(ggufx_writer_options *o) {
    (void)o;
}
static void prepare_ggufx_estimate_options(ggufx_estimate_options *o) {
    (void)o;
}
static void prepare_ggufx_runtime_options(ggufx_runtime_options *o) {
    (void)o;
}
static void prepare_ggufx_decode_options(ggufx_decode_options *o) {
    (void)o;
}
static void prepare_ggufx_kv_options(ggufx_kv_options *o) {
    o->n_layers = o->n_kv_heads = o->n_q_heads = 1;
    o->head_dim_k = 32;
}

static void check_session(fixture *f) {
    ggufx_session *s;
    const uint32_t most = UINT32_MAX;
    CASE(ggufx_session_options, n_batch, most, GGUFX_E_ARGUMENT, "n_batch is 4294967295",
         ggufx_session_create(&s, f->model, &options, &f->error));
    CASE(ggufx_session_options, n_batch, 0x80000000u, GGUFX_E_ARGUMENT, "limit is 2147483647",
         ggufx_session_create(&s, f->model, &options, &f->error));
    CASE(ggufx_session_options, n_context, most, GGUFX_E_ARGUMENT, "n_context is 4294967295",
         ggufx_session_create(&s, f->model, &options, &f->error));
    CASE(ggufx_session_options, type_k, 4, GGUFX_E_TYPE, "4, Q4_2 (removed",
         ggufx_session_create(&s, f->model, &options, &f->error));
    CASE(ggufx_session_options, type_v, most, GGUFX_E_TYPE, "4294967295, unknown,",
         ggufx_session_create(&s, f->model, &options, &f->error));
    CASE(ggufx_session_options, n_checkpoints, 4097, GGUFX_E_ARGUMENT,
         "n_checkpoints is 4097, the limit is 4096",
         ggufx_session_create(&s, f->model, &options, &f->error));
    CASE(ggufx_session_options, n_sequences, 65537, GGUFX_E_ARGUMENT,
         "n_sequences is 65537, the limit is 65536",
         ggufx_session_create(&s, f->model, &options, &f->error));
    CASE(ggufx_session_options, matmul_flags, 64, GGUFX_E_ARGUMENT, "matmul_flags",
         ggufx_session_create(&s, f->model, &options, &f->error));
    const int32_t token = 1;
    CASE(ggufx_decode_options, n_logits, 5, GGUFX_E_ARGUMENT, "logits",
         decode_with(f->session, &token, 1, 0, &options, &f->error));
}

static void check_kv(fixture *f) {
    ggufx_kv *kv;
    const uint32_t most = UINT32_MAX;
    static const float odd[] = {-1.0f, NAN, INFINITY, -INFINITY, 1e30f};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        CASE(ggufx_kv_options, rope_base, odd[i], GGUFX_E_ARGUMENT, "rope_base",
             ggufx_kv_create(&kv, f->rt, &options, &f->error));
        CASE(ggufx_kv_options, rope_scale, odd[i], GGUFX_E_ARGUMENT, "rope_scale",
             ggufx_kv_create(&kv, f->rt, &options, &f->error));
    }
#define KV_CASE(field, value, status, text)                                                        \
    CASE(ggufx_kv_options, field, value, status, text,                                             \
         ggufx_kv_create(&kv, f->rt, &options, &f->error))
    KV_CASE(rope_style, 4, GGUFX_E_ARGUMENT, "rope_style");
    KV_CASE(n_layers, 0, GGUFX_E_ARGUMENT, "n_layers");
    KV_CASE(n_layers, most, GGUFX_E_LIMIT, "4294967295 layers");
    KV_CASE(n_sequences, most, GGUFX_E_LIMIT, "4294967295 sequences");
    KV_CASE(n_kv_heads, 0, GGUFX_E_ARGUMENT, "n_kv_heads");
    KV_CASE(n_q_heads, 0, GGUFX_E_ARGUMENT, "n_q_heads");
    KV_CASE(head_dim_k, 0, GGUFX_E_ARGUMENT, "head_dim_k");
    KV_CASE(head_dim_k, most, GGUFX_E_ARGUMENT, "too large");
    KV_CASE(head_dim_v, most, GGUFX_E_ARGUMENT, "too large");
    KV_CASE(n_sink_tokens, 65, GGUFX_E_ARGUMENT, "n_sink_tokens");
    KV_CASE(type_k, most, GGUFX_E_TYPE, "4294967295");
    KV_CASE(type_v, 10, GGUFX_E_TYPE, "10, q2_K,");
    KV_CASE(n_layer_options, 1, GGUFX_E_ARGUMENT, "n_layer_options");
    const ggufx_kv_layer_options layer = {.struct_size = sizeof layer, .window_kind = 9};
    ggufx_kv_options o = {.struct_size = sizeof o};
    prepare_ggufx_kv_options(&o);
    o.layers = &layer;
    o.n_layer_options = 1;
    FAILS(f, GGUFX_E_ARGUMENT, "window_kind 9", ggufx_kv_create(&kv, f->rt, &o, &f->error));
}

static void check_attend(fixture *f) {
    ggufx_kv *kv;
    ggufx_kv_options o = {.struct_size = sizeof o};
    float x[32] = {0}, out[32];
    static const float odd[] = {NAN, INFINITY, -INFINITY};
    prepare_ggufx_kv_options(&o);
    MUST(f, ggufx_kv_create(&kv, f->rt, &o, &f->error));
    MUST(f, kv_append_rows(kv, 0, 0, 1, NULL, x, 32, x, 32, &f->error));
#define ATTEND_CASE(field, value, text)                                                            \
    CASE(ggufx_attend_options, field, value, GGUFX_E_ARGUMENT, text,                               \
         kv_attend_rows(out, 32, NULL, 0, kv, 0, 0, x, 32, 1, NULL, &options, &f->error))
    for (size_t i = 0; i < 3; i++) {
        ATTEND_CASE(scale, odd[i], "scale");
        ATTEND_CASE(softcap, odd[i], "softcap");
        FAILS(f, GGUFX_E_ARGUMENT, "scale",
              kv_score_rows(out, 1, kv, 0, 0, x, 32, 1, odd[i], &f->error));
    }
    ATTEND_CASE(softcap, -1.0f, "softcap");
    ATTEND_CASE(n_alibi_slopes, 1, "alibi_slopes");
    ATTEND_CASE(n_sink_logits, 1, "sink_logits");
    ggufx_kv_destroy(kv);
}

static void check_others(fixture *f) {
    ggufx_file *file;
    ggufx_writer *writer;
    ggufx_runtime *rt;
    ggufx_estimate_facts facts = {.struct_size = sizeof facts};
    CASE(ggufx_open_options, io, 3, GGUFX_E_ARGUMENT, "io",
         ggufx_open_memory(&file, f->rt, "GGUF", 4, NULL, NULL, &options, &f->error));
    CASE(ggufx_open_options, io, -1, GGUFX_E_ARGUMENT, "io",
         ggufx_open_memory(&file, f->rt, "GGUF", 4, NULL, NULL, &options, &f->error));
    CASE(ggufx_open_options, dialect, 1, GGUFX_E_UNSUPPORTED, "dialect is 1",
         ggufx_open_memory(&file, f->rt, "GGUF", 4, NULL, NULL, &options, &f->error));
    CASE(ggufx_writer_options, version, 4, GGUFX_E_VERSION, "version is 4",
         ggufx_writer_create(&writer, f->rt, &options, &f->error));
    CASE(ggufx_runtime_options, isa, 99, GGUFX_E_UNSUPPORTED, "isa is 99",
         ggufx_runtime_create(&rt, &options, &f->error));
    CASE(ggufx_runtime_options, isa, -1, GGUFX_E_UNSUPPORTED, "isa is -1",
         ggufx_runtime_create(&rt, &options, &f->error));
    static const double odd[] = {-1.0, NAN, INFINITY, 1e31};
    for (size_t i = 0; i < 4; i++)
        CASE(ggufx_estimate_options, bandwidth, odd[i], GGUFX_E_ARGUMENT, "bandwidth",
             ggufx_estimate(&facts, f->rt, f->file, &options, &f->error));
    CASE(ggufx_estimate_options, n_batch, UINT32_MAX, GGUFX_E_ARGUMENT, "n_batch is 4294967295",
         ggufx_estimate(&facts, f->rt, f->file, &options, &f->error));
    CASE(ggufx_estimate_options, n_context, UINT32_MAX, GGUFX_E_ARGUMENT, "n_context",
         ggufx_estimate(&facts, f->rt, f->file, &options, &f->error));
    CASE(ggufx_estimate_options, type_k, 10, GGUFX_E_TYPE, "10, q2_K,",
         ggufx_estimate(&facts, f->rt, f->file, &options, &f->error));
    float rows[32] = {0};
    uint8_t blocks[18];
    CASE(ggufx_quantize_args, mode, 2, GGUFX_E_UNSUPPORTED, "mode 2",
         quantize_rows(blocks, sizeof blocks, f->rt, GGUFX_TYPE_Q4_0, rows, 1, 32, &options,
                       &f->error));
    CASE(ggufx_quantize_args, mode, -1, GGUFX_E_UNSUPPORTED, "mode -1",
         quantize_rows(blocks, sizeof blocks, f->rt, GGUFX_TYPE_Q4_0, rows, 1, 32, &options,
                       &f->error));
}

static void test_numbers_that_cannot_be_meant_are_refused_by_name(void **state) {
    (void)state;
    fixture fixed, *f = &fixed;
    begin_session(f, NULL, 0);
    check_session(f);
    check_kv(f);
    check_attend(f);
    check_others(f);
    end(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_that_cannot_be_meant_are_refused_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
