/*
 * Adapters: refused files, shapes and calls, with their messages; refused calls change nothing.
 * Memory as estimated, every allocation failing, lifetimes, threads. (Results: adapters.cpp.)
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "ok.h"
#include "session_fixture.h"
#include "tiny_adapter.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4 };

static ggufx_file *open_built(gb *b, const ggufx_runtime *rt) {
    ggufx_file *file = NULL;
    ggufx_error error;
    const ggufx_status status =
        ggufx_open_memory(&file, rt, b->data, b->n, free, b->data, NULL, &error);
    if (status != GGUFX_OK) fail_msg("%s", error.message);
    return file;
}

static ggufx_status bind(ggufx_adapter **out, const fixture *f, const tiny_adapter *options,
                         int control, const ggufx_adapter_options *how, ggufx_error *error) {
    gb b;
    (control ? tiny_control : tiny_lora)(&b, options);
    ggufx_file *file = open_built(&b, f->rt);
    const ggufx_status status = ggufx_adapter_create(out, f->model, file, how, error);
    ggufx_file_destroy(file); /* the adapter keeps it */
    return status;
}

static ggufx_adapter *new_adapter(fixture *f, int control) {
    ggufx_adapter *adapter = NULL;
    MUST(f, bind(&adapter, f, NULL, control, NULL, &f->error));
    return adapter;
}

typedef struct refusal {
    tiny_adapter options;
    ggufx_status status;
    const char *text;
} refusal;

#define EXTRA(name, type, n_dims, ...) .extra = {name, type, n_dims, {__VA_ARGS__}}
#define Q "blk.1.attn_q.weight"

static const refusal kLora[] = {
    {{.architecture = "qwen2"},
     GGUFX_E_MISMATCH,
     "general.architecture of the adapter is \"qwen2\", not \"llama\""},
    {{.architecture = ""}, GGUFX_E_MISMATCH, "not \"llama\""},
    {{.type = "model"},
     GGUFX_E_UNSUPPORTED,
     "general.type of the adapter is \"model\", not \"adapter\""},
    {{.type = ""}, GGUFX_E_UNSUPPORTED, "not \"adapter\""},
    {{.kind = "ia3"}, GGUFX_E_UNSUPPORTED, "adapter.type of the adapter is \"ia3\", not \"lora\""},
    {{.invocation = 1}, GGUFX_E_UNSUPPORTED, "adapter.alora.invocation_tokens"},
    {{.alpha = INFINITY}, GGUFX_E_VALUE, "adapter.lora.alpha"},
    {{.alpha = NAN}, GGUFX_E_VALUE, "adapter.lora.alpha"},
    {{.alpha_text = 1}, GGUFX_E_VALUE_TYPE, "adapter.lora.alpha"},
    {{.empty = 1}, GGUFX_E_MISSING, "no tensors"},
    {{.skip = Q ".lora_b"},
     GGUFX_E_MISSING,
     "\"" Q ".lora_a\" of the adapter has no \"" Q ".lora_b\""},
    {{.skip = Q ".lora_a"},
     GGUFX_E_MISSING,
     "\"" Q ".lora_b\" of the adapter has no \"" Q ".lora_a\""},
    {{EXTRA("blk.2.attn_q.weight.lora_a", 0, 2, TINY_EMBD, 3, 1, 1)},
     GGUFX_E_MISMATCH,
     "\"blk.2.attn_q.weight.lora_a\" of the adapter belongs to no tensor"},
    {{EXTRA("blk.0.attn_qkv.weight.lora_a", 0, 2, TINY_EMBD, 3, 1, 1)},
     GGUFX_E_MISMATCH,
     "\"blk.0.attn_qkv.weight.lora_a\""},
    {{EXTRA("blk.0.attn_norm.weight.lora_a", 0, 2, TINY_EMBD, 3, 1, 1)},
     GGUFX_E_MISMATCH,
     "not a matrix"},
    {{EXTRA("blk.0.attn_norm.weight", 0, 1, TINY_EMBD, 1, 1, 1)},
     GGUFX_E_UNSUPPORTED,
     "\"blk.0.attn_norm.weight\" of the adapter is neither"},
    {{EXTRA("", 0, 1, TINY_EMBD, 1, 1, 1)}, GGUFX_E_UNSUPPORTED, "neither"},
    {{EXTRA(".lora_a", 0, 2, TINY_EMBD, 3, 1, 1)}, GGUFX_E_MISMATCH, "\".lora_a\""},
    {{EXTRA(Q ".lora_a", 0, 2, TINY_EMBD + 1, TINY_RANK, 1, 1)},
     GGUFX_E_MISMATCH,
     "\"" Q ".lora_a\" [33, 3, 1] and \".lora_b\" [3, 32, 1] do not fit the model's, which is [32, "
     "32, 1]"},
    {{EXTRA(Q ".lora_b", 0, 2, TINY_RANK, 31, 1, 1)}, GGUFX_E_MISMATCH, Q ".lora_a"},
    {{EXTRA(Q ".lora_a", 0, 2, TINY_EMBD, TINY_RANK + 1, 1, 1)}, GGUFX_E_MISMATCH, Q ".lora_a"},
    {{EXTRA(Q ".lora_a", 0, 3, TINY_EMBD, TINY_RANK, 2, 1)}, GGUFX_E_MISMATCH, Q ".lora_a"},
    {{EXTRA(Q ".lora_b", 0, 3, TINY_RANK, 32, 2, 1)}, GGUFX_E_MISMATCH, Q ".lora_a"},
    {{EXTRA(Q ".lora_b", 0, 4, TINY_RANK, 32, 1, 2)}, GGUFX_E_MISMATCH, Q ".lora_a"},
    {{EXTRA(Q ".lora_a", GGUFX_TYPE_I32, 2, TINY_EMBD, TINY_RANK, 1, 1)},
     GGUFX_E_TYPE,
     "\"" Q ".lora_a\" of the adapter is of type i32"},
    {{EXTRA("token_embd.weight.lora_a", 0, 2, TINY_VOCAB, TINY_RANK, 1, 1)},
     GGUFX_E_MISMATCH,
     "token_embd.weight.lora_a"},
};

static const refusal kControl[] = {
    {{EXTRA("direction.0", 0, 1, TINY_EMBD, 1, 1, 1)}, GGUFX_E_UNSUPPORTED, "\"direction.0\""},
    {{EXTRA("direction.x", 0, 1, TINY_EMBD, 1, 1, 1)}, GGUFX_E_UNSUPPORTED, "\"direction.x\""},
    {{EXTRA("direction.1x", 0, 1, TINY_EMBD, 1, 1, 1)}, GGUFX_E_UNSUPPORTED, "\"direction.1x\""},
    {{EXTRA("direction.-1", 0, 1, TINY_EMBD, 1, 1, 1)}, GGUFX_E_UNSUPPORTED, "\"direction.-1\""},
    {{EXTRA("direction.99999999999", 0, 1, TINY_EMBD, 1, 1, 1)}, GGUFX_E_UNSUPPORTED, "LAYER"},
    {{EXTRA("other.1", 0, 1, TINY_EMBD, 1, 1, 1)}, GGUFX_E_UNSUPPORTED, "\"other.1\""},
    {{EXTRA("direction.2", 0, 1, TINY_EMBD, 1, 1, 1)},
     GGUFX_E_MISMATCH,
     "\"direction.2\" of the control vector is [32, 1], the model has 2 layers of 32 values"},
    {{EXTRA("direction.1", 0, 1, TINY_EMBD + 1, 1, 1, 1)}, GGUFX_E_MISMATCH, "[33, 1]"},
    {{EXTRA("direction.1", 0, 2, TINY_EMBD, 2, 1, 1)}, GGUFX_E_MISMATCH, "[32, 2]"},
    {{EXTRA("direction.1", GGUFX_TYPE_Q8_0, 1, TINY_EMBD, 1, 1, 1)}, GGUFX_E_TYPE, "q8_0"},
};

static void refuse_all(fixture *f, const refusal *list, size_t n, int control) {
    for (size_t i = 0; i < n; i++) {
        ggufx_adapter *adapter = (ggufx_adapter *)(uintptr_t)1;
        const long live = f->memory.live;
        FAILS(f, list[i].status, list[i].text,
              bind(&adapter, f, &list[i].options, control, NULL, &f->error));
        assert_null(adapter);
        assert_int_equal(f->memory.live, live);
    }
}

static void test_files_that_do_not_fit_are_refused_by_name(void **state) {
    fixture f;
    (void)state;
    begin_session(&f, NULL, 0);
    refuse_all(&f, kLora, sizeof kLora / sizeof *kLora, 0);
    refuse_all(&f, kControl, sizeof kControl / sizeof *kControl, 1);
    end(&f);
}

/* Empty matrices have no rank. */
static void test_a_rank_of_none_is_refused(void **state) {
    fixture f;
    gb b;
    ggufx_adapter *adapter = NULL;
    (void)state;
    begin_session(&f, NULL, 0);
    gb_begin(&b, 3, 0);
    gb_key_string(&b, "general.architecture", "llama");
    gb_key_string(&b, "general.type", "adapter");
    gb_key_string(&b, "adapter.type", "lora");
    const uint64_t a[2] = {TINY_EMBD, 0}, of_b[2] = {0, TINY_HEADS * TINY_HEAD_DIM};
    gb_tensor(&b, Q ".lora_a", 0, 2, a, 0);
    gb_tensor(&b, Q ".lora_b", 0, 2, of_b, 0);
    gb_data(&b);
    ggufx_file *file = open_built(&b, f.rt);
    FAILS(&f, GGUFX_E_VALUE, "rank 0",
          ggufx_adapter_create(&adapter, f.model, file, NULL, &f.error));
    ggufx_file_destroy(file);
    end(&f);
}

static void test_calls_are_refused(void **state) {
    fixture f;
    ggufx_adapter *adapter = NULL;
    ggufx_adapter_options options = {.struct_size = sizeof options};
    ggufx_file *file = NULL;
    float rows[2 * TINY_EMBD] = {0};
    size_t q = 0;
    (void)state;
    begin_session(&f, NULL, 0);
    ggufx_adapter *lora = new_adapter(&f, 0), *control = new_adapter(&f, 1);
    FAILS(&f, GGUFX_E_ARGUMENT, "must be set",
          ggufx_adapter_create(NULL, f.model, f.file, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "must be set",
          ggufx_adapter_create(&adapter, NULL, f.file, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "file must",
          ggufx_adapter_create(&adapter, f.model, NULL, NULL, &f.error));
    FAILS(&f, GGUFX_E_UNSUPPORTED, "general.type",
          ggufx_adapter_create(&adapter, f.model, f.file, NULL, &f.error));
    options.first_layer = TINY_LAYERS;
    FAILS(&f, GGUFX_E_ARGUMENT, "layers 2 to 0", bind(&adapter, &f, NULL, 1, &options, &f.error));
    options.first_layer = 0;
    options.last_layer = TINY_LAYERS;
    FAILS(&f, GGUFX_E_ARGUMENT, "layers 0 to 2", bind(&adapter, &f, NULL, 1, &options, &f.error));
    options.first_layer = 1;
    options.last_layer = 1;
    MUST(&f, bind(&adapter, &f, NULL, 1, &options, &f.error));
    ggufx_adapter_destroy(adapter);

    /* A file opened with its metadata only. */
    gb b;
    ggufx_open_options open = {.struct_size = sizeof open};
    tiny_lora(&b, NULL);
    open.flags = GGUFX_OPEN_METADATA_ONLY;
    MUST(&f, ggufx_open_memory(&file, f.rt, b.data, b.n, free, b.data, &open, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "metadata only",
          ggufx_adapter_create(&adapter, f.model, file, NULL, &f.error));
    ggufx_file_destroy(file);

    MUST(&f, ggufx_file_tensor_find(&q, f.file, Q, strlen(Q), &f.error));
    assert_int_equal(ggufx_adapter_has_tensor(lora, q), 1);
    assert_int_equal(ggufx_adapter_has_tensor(lora, SIZE_MAX), 0);
    assert_int_equal(ggufx_adapter_has_tensor(control, q), 0);
    assert_int_equal(ggufx_adapter_has_tensor(NULL, q), 0);
    FAILS(&f, GGUFX_E_ARGUMENT, "tensor is",
          ggufx_adapter_add_rows(rows, TINY_EMBD, lora, SIZE_MAX, 0, 1, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "2 rows from 31 on",
          ggufx_adapter_add_rows(rows, 2 * TINY_EMBD, lora, q, 31, 2, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "1 rows from 18446744073709551615 on",
          ggufx_adapter_add_rows(rows, TINY_EMBD, lora, q, UINT64_MAX, 1, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n is 31",
          ggufx_adapter_add_rows(rows, 31, lora, q, 0, 1, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "finite",
          ggufx_adapter_add_rows(rows, TINY_EMBD, lora, q, 0, 1, NAN, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "merged",
          ggufx_adapter_add_rows(rows, TINY_EMBD, control, q, 0, 1, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "rows must",
          ggufx_adapter_add_rows(NULL, TINY_EMBD, lora, q, 0, 1, 1, &f.error));
    for (size_t i = 0; i < TINY_EMBD; i++) assert_true(rows[i] == 0);
    MUST(&f, ggufx_adapter_add_rows(NULL, 0, lora, q, 32, 0, 1, &f.error));
    ggufx_adapter_destroy(control);
    ggufx_adapter_destroy(lora);
    ggufx_adapter_destroy(NULL);
    end(&f);
}

/* rows += s B A, from the file's numbers in binary64. */
static void test_rows_are_those_of_the_merged_matrix(void **state) {
    const uint64_t n = TINY_EMBD, m = TINY_HEADS * TINY_HEAD_DIM;
    float rows[TINY_EMBD * TINY_HEADS * TINY_HEAD_DIM], some[3 * TINY_EMBD] = {0};
    float a[TINY_RANK * TINY_EMBD], b[TINY_HEADS * TINY_HEAD_DIM * TINY_RANK];
    fixture f;
    gb built;
    size_t q = 0, of_a = 0, of_b = 0;
    (void)state;
    begin_session(&f, NULL, 0);
    tiny_lora(&built, NULL);
    ggufx_file *file = open_built(&built, f.rt);
    ggufx_adapter *lora = NULL;
    MUST(&f, ggufx_adapter_create(&lora, f.model, file, NULL, &f.error));
    MUST(&f, ggufx_file_tensor_find(&q, f.file, Q, strlen(Q), &f.error));
    MUST(&f, ggufx_file_tensor_find(&of_a, file, Q ".lora_a", strlen(Q) + 7, &f.error));
    MUST(&f, ggufx_file_tensor_find(&of_b, file, Q ".lora_b", strlen(Q) + 7, &f.error));
    MUST(&f, ggufx_dequantize(a, sizeof a / 4, f.rt, ggufx_file_tensor(file, of_a), 0, TINY_RANK,
                              &f.error));
    MUST(&f,
         ggufx_dequantize(b, sizeof b / 4, f.rt, ggufx_file_tensor(file, of_b), 0, m, &f.error));
    for (size_t i = 0; i < n * m; i++) rows[i] = (float)i / 100;
    MUST(&f, ggufx_adapter_add_rows(rows, n * m, lora, q, 0, m, 0.25f, &f.error));
    for (size_t r = 0; r < m; r++) {
        for (size_t c = 0; c < n; c++) {
            double sum = 0;
            for (size_t k = 0; k < TINY_RANK; k++)
                sum += (double)b[r * TINY_RANK + k] * a[k * n + c];
            const double want = (double)(float)(r * n + c) / 100 + 0.25 * 6 / TINY_RANK * sum;
            assert_true(fabs(rows[r * n + c] - want) < 1e-5);
        }
    }
    memcpy(some, rows + 5 * n, 0);
    for (size_t i = 0; i < 3 * n; i++) some[i] = (float)(5 * n + i) / 100;
    MUST(&f, ggufx_adapter_add_rows(some, 3 * n, lora, q, 5, 3, 0.25f, &f.error));
    assert_memory_equal(some, rows + 5 * n, sizeof some);
    ggufx_adapter_destroy(lora);
    ggufx_file_destroy(file);
    end(&f);
}

static void test_facts_tell_what_it_is(void **state) {
    fixture f;
    ggufx_adapter_facts facts = {.struct_size = sizeof facts}, again = facts, of_control = facts;
    (void)state;
    begin_session(&f, NULL, 0);
    ggufx_adapter *control = new_adapter(&f, 1);
    const long long before = f.memory.live_bytes;
    ggufx_adapter *first = new_adapter(&f, 0);
    const long long taken = f.memory.live_bytes - before;
    ggufx_adapter *second = new_adapter(&f, 0), *other = NULL;
    const tiny_adapter alpha = {.alpha = 7};
    MUST(&f, bind(&other, &f, &alpha, 0, NULL, &f.error));
    MUST(&f, ggufx_adapter_info(&facts, first, &f.error));
    MUST(&f, ggufx_adapter_info(&again, second, &f.error));
    MUST(&f, ggufx_adapter_info(&of_control, control, &f.error));
    assert_int_equal(facts.kind, GGUFX_ADAPTER_LORA);
    assert_int_equal(facts.n_targets, 3 * TINY_LAYERS + 1);
    assert_int_equal(facts.rank, TINY_RANK);
    assert_true(facts.alpha == 6);
    assert_int_equal(facts.fingerprint, again.fingerprint);
    assert_int_equal(of_control.kind, GGUFX_ADAPTER_CONTROL);
    assert_int_equal(of_control.n_targets, 1);
    assert_int_equal(of_control.rank, 0);
    assert_int_not_equal(of_control.fingerprint, facts.fingerprint);
    MUST(&f, ggufx_adapter_info(&again, other, &f.error));
    assert_int_not_equal(facts.fingerprint, again.fingerprint);
    /* In addition to the file that it keeps, whose memory is counted separately. */
    ggufx_file *file = NULL;
    gb b;
    tiny_lora(&b, NULL);
    const long long empty = f.memory.live_bytes;
    file = open_built(&b, f.rt);
    const long long of_file = f.memory.live_bytes - empty;
    ggufx_file_destroy(file);
    assert_in_range(taken - (long long)facts.memory_bytes, 1, of_file);
    FAILS(&f, GGUFX_E_ARGUMENT, "must be set", ggufx_adapter_info(NULL, first, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "must be set", ggufx_adapter_info(&facts, NULL, &f.error));
    ggufx_adapter_destroy(other);
    ggufx_adapter_destroy(second);
    ggufx_adapter_destroy(first);
    ggufx_adapter_destroy(control);
    end(&f);
}

/* Returns the logits of a prompt in the fixture's session, which is empty before and after. */
static void logits_of(fixture *f, float *out) {
    int32_t tokens[N];
    make_tokens(tokens, N);
    decode(f, tokens, N, out);
    MUST(f, ggufx_session_truncate(f->session, 0, 0, &f->error));
}

static void test_a_session_keeps_what_it_was_given(void **state) {
    float plain[TINY_VOCAB], with[TINY_VOCAB], got[TINY_VOCAB];
    fixture f, g;
    (void)state;
    begin_session(&f, NULL, 0);
    begin_session(&g, NULL, 0);
    ggufx_adapter *lora = new_adapter(&f, 0), *strange = new_adapter(&g, 0);
    const int32_t token = 5;
    ggufx_adapter_use uses[GGUFX_ADAPTER_MAX_USES + 1];
    for (size_t i = 0; i <= GGUFX_ADAPTER_MAX_USES; i++)
        uses[i] = (ggufx_adapter_use){lora, 1e-3f, 0};
    const ggufx_adapter_use half = {lora, 0.5f, 0}, endless = {lora, INFINITY, 0},
                            reserved = {lora, 1, 1}, none = {NULL, 1, 0};
    const ggufx_adapter_use second_is_strange[2] = {half, {strange, 1, 0}};
    logits_of(&f, plain);
    MUST(&f, ggufx_session_set_adapters(f.session, 0, &half, 1, &f.error));
    logits_of(&f, with);
    assert_memory_not_equal(with, plain, sizeof with);

    FAILS(&f, GGUFX_E_ARGUMENT, "session must",
          ggufx_session_set_adapters(NULL, 0, &half, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence 1",
          ggufx_session_set_adapters(f.session, 1, &half, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "uses must",
          ggufx_session_set_adapters(f.session, 0, NULL, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_uses is 65",
          ggufx_session_set_adapters(f.session, 0, uses, 65, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "not finite",
          ggufx_session_set_adapters(f.session, 0, &endless, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "reserved 0",
          ggufx_session_set_adapters(f.session, 0, &reserved, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "must be set",
          ggufx_session_set_adapters(f.session, 0, &none, 1, &f.error));
    const ggufx_status status =
        ggufx_session_set_adapters(f.session, 0, second_is_strange, 2, &f.error);
    assert_int_equal(f.error.index, 1);
    FAILS(&f, GGUFX_E_MISMATCH, "another model", status);
    decode(&f, &token, 1, NULL);
    FAILS(&f, GGUFX_E_STATE, "sequence 0 has 1 tokens",
          ggufx_session_set_adapters(f.session, 0, NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_STATE, "sequence 0",
          ggufx_session_set_adapters(f.session, GGUFX_ALL_SEQUENCES, NULL, 0, &f.error));
    MUST(&f, ggufx_session_truncate(f.session, 0, 0, &f.error));
    logits_of(&f, got);
    assert_memory_equal(got, with, sizeof got);

    ggufx_adapter_destroy(lora); /* the session keeps it */
    logits_of(&f, got);
    assert_memory_equal(got, with, sizeof got);
    MUST(&f, ggufx_session_set_adapters(f.session, GGUFX_ALL_SEQUENCES, NULL, 0, &f.error));
    logits_of(&f, got);
    assert_memory_equal(got, plain, sizeof got);
    ggufx_adapter_destroy(strange);
    end(&g);
    end(&f);
}

/* Decoding with adapters allocates nothing; setting them allocates the estimated bytes. */
static void test_the_estimate_is_what_the_allocator_gives(void **state) {
    fixture f;
    int32_t tokens[N];
    (void)state;
    begin_session(&f, NULL, 0);
    gb b[2];
    ggufx_file *files[2];
    ggufx_adapter *made[2];
    tiny_lora(&b[0], NULL);
    tiny_control(&b[1], NULL);
    for (size_t i = 0; i < 2; i++) files[i] = open_built(&b[i], f.rt);
    const long long before = f.memory.live_bytes;
    for (size_t i = 0; i < 2; i++)
        MUST(&f, ggufx_adapter_create(&made[i], f.model, files[i], NULL, &f.error));
    const ggufx_adapter_use uses[2] = {{made[0], 1, 0}, {made[1], 0.5f, 0}};
    MUST(&f, ggufx_session_set_adapters(f.session, 0, uses, 2, &f.error));
    const long long taken = f.memory.live_bytes - before;
    ggufx_estimate_options options = {.struct_size = sizeof options};
    ggufx_estimate_facts facts = {.struct_size = sizeof facts}, plain = facts;
    MUST(&f, ggufx_estimate(&plain, f.rt, f.file, &options, &f.error));
    options.adapters = (const ggufx_file *const *)files;
    options.n_adapters = 2;
    MUST(&f, ggufx_estimate(&facts, f.rt, f.file, &options, &f.error));
    assert_int_equal(facts.adapter_bytes, taken);
    assert_int_equal(facts.total_bytes,
                     plain.total_bytes + facts.adapter_bytes + facts.adapter_file_bytes);
    assert_int_equal(plain.adapter_bytes + plain.adapter_file_bytes, 0);
    assert_int_equal(facts.adapter_file_bytes, b[0].n + b[1].n);
    make_tokens(tokens, N);
    const long calls = f.memory.calls;
    decode(&f, tokens, N, NULL);
    for (size_t i = 0; i < 3; i++) decode(&f, tokens + i, 1, NULL);
    assert_int_equal(f.memory.calls, calls);
    for (size_t i = 0; i < 2; i++) ggufx_adapter_destroy(made[i]);
    for (size_t i = 0; i < 2; i++) ggufx_file_destroy(files[i]);
    end(&f);
}

typedef struct worker {
    const ggufx_model *model;
    const ggufx_adapter *adapter;
    float logits[TINY_VOCAB];
} worker;

static void *work(void *context) {
    worker *w = context;
    int32_t tokens[N];
    ggufx_session *session = NULL;
    const ggufx_adapter_use use = {w->adapter, 1, 0};
    make_tokens(tokens, N);
    OK(ggufx_session_create(&session, w->model, NULL, ok_error()));
    OK(ggufx_session_set_adapters(session, 0, &use, 1, ok_error()));
    OK(decode_ids(session, tokens, N, w->logits, TINY_VOCAB, ok_error()));
    ggufx_session_destroy(session);
    return NULL;
}

static void test_an_adapter_serves_many_threads(void **state) {
    static worker workers[THREADS];
    pthread_t threads[THREADS];
    fixture f;
    (void)state;
    begin(&f, NULL);
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    MUST(&f, ggufx_runtime_create(&rt, NULL, &f.error));
    MUST(&f, open_tiny(&file, rt, NULL, &f.error));
    MUST(&f, ggufx_model_create(&model, rt, file, NULL, &f.error));
    gb b;
    tiny_lora(&b, NULL);
    ggufx_file *of_adapter = open_built(&b, rt);
    ggufx_adapter *adapter = NULL;
    MUST(&f, ggufx_adapter_create(&adapter, model, of_adapter, NULL, &f.error));
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.model = model, .adapter = adapter};
        assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (size_t i = 1; i < THREADS; i++)
        assert_memory_equal(workers[i].logits, workers[0].logits, sizeof workers[0].logits);
    ggufx_adapter_destroy(adapter);
    ggufx_file_destroy(of_adapter);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
    end(&f);
}

static ggufx_status all_of_it(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const int control = *(const int *)context;
    ggufx_file *file = NULL, *of_adapter = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_adapter *adapter = NULL;
    const int32_t tokens[] = {1, 5, 9, 5, 9, 5};
    float rows[TINY_EMBD] = {0};
    size_t q = 0;
    gb b;
    (control ? tiny_control : tiny_lora)(&b, NULL);
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    if (!status) status = ggufx_open_memory(&of_adapter, rt, b.data, b.n, NULL, NULL, NULL, error);
    if (!status) status = ggufx_model_create(&model, rt, file, NULL, error);
    if (!status) status = ggufx_session_create(&session, model, NULL, error);
    if (!status) status = ggufx_adapter_create(&adapter, model, of_adapter, NULL, error);
    const ggufx_adapter_use use = {adapter, 1, 0};
    if (!status) status = ggufx_session_set_adapters(session, 0, &use, 1, error);
    if (!status) status = decode_ids(session, tokens, 6, NULL, 0, error);
    if (!status) status = ggufx_file_tensor_find(&q, file, Q, strlen(Q), error);
    if (!status && !control)
        status = ggufx_adapter_add_rows(rows, TINY_EMBD, adapter, q, 0, 1, 1, error);
    ggufx_adapter_destroy(adapter);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(of_adapter);
    ggufx_file_destroy(file);
    gb_free(&b);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    for (int control = 0; control < 2; control++) assert_true(fault_run(all_of_it, &control) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files_that_do_not_fit_are_refused_by_name),
        cmocka_unit_test(test_a_rank_of_none_is_refused),
        cmocka_unit_test(test_calls_are_refused),
        cmocka_unit_test(test_rows_are_those_of_the_merged_matrix),
        cmocka_unit_test(test_facts_tell_what_it_is),
        cmocka_unit_test(test_a_session_keeps_what_it_was_given),
        cmocka_unit_test(test_the_estimate_is_what_the_allocator_gives),
        cmocka_unit_test(test_an_adapter_serves_many_threads),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
