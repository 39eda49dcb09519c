/*
 * Sessions: logits against doubles, batches, cut-backs, cancels, fixed bits.
 * SPDX-License-Identifier: MIT
 */
#include "model_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 40 };

/* Of the logits (about 10 at most): f32 against doubles through two layers; the same as for whole
 * models in data/README (abs 1e-3, rel 1e-4), ten times tighter because the model is small. */
#define TOLERANCE 1e-4

static void make_tokens(int32_t *tokens, size_t n) {
    tokens[0] = TINY_BOS;
    for (size_t i = 1; i < n; i++) tokens[i] = (int32_t)((i * i * 31 + 7 * i + 5) % TINY_VOCAB);
}

static void decode_all(fixture *f, const int32_t *tokens, size_t n, float *logits) {
    ggufx_decode_options options;
    ggufx_decode_options_init(&options);
    options.flags = GGUFX_DECODE_ALL_LOGITS;
    options.logits = logits;
    options.n_logits = n * TINY_VOCAB;
    MUST(f, ggufx_session_decode(f->session, tokens, n, &options, &f->error));
}

static void decode(fixture *f, const int32_t *tokens, size_t n) {
    MUST(f, ggufx_session_decode(f->session, tokens, n, NULL, &f->error));
}

static void get_logits(fixture *f, float *logits) {
    MUST(f, ggufx_session_logits(logits, TINY_VOCAB, f->session, &f->error));
}

static void assert_close(const float *got, const double *want, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (fabs((double)got[i] - want[i]) > TOLERANCE * (1.0 + fabs(want[i]))) {
            fail_msg("logit %zu is %.9g, not %.9g", i, (double)got[i], want[i]);
        }
    }
}

static void check_against_doubles(const tiny_options *options, uint32_t n_batch) {
    float *logits = malloc(N * TINY_VOCAB * sizeof *logits);
    double *want = malloc(N * TINY_VOCAB * sizeof *want);
    int32_t tokens[N];
    fixture f;
    make_tokens(tokens, N);
    tiny_reference(want, tokens, N, options);
    begin_session(&f, options, n_batch); /* f32 activations */
    decode_all(&f, tokens, N, logits);
    assert_close(logits, want, N * TINY_VOCAB);
    assert_int_equal(ggufx_session_length(f.session), N);
    end(&f);
    free(logits);
    free(want);
}

static void test_decode_agrees_with_doubles(void **state) {
    (void)state;
    check_against_doubles(NULL, 0);
    check_against_doubles(NULL, 1);
    check_against_doubles(NULL, 7);
}

static void test_decode_agrees_with_doubles_for_each_variant_of_the_graph(void **state) {
    tiny_options options;
    (void)state;
    memset(&options, 0, sizeof options);
    options.untied = 1;
    check_against_doubles(&options, 0);
    memset(&options, 0, sizeof options);
    options.rope_freqs = 1;
    check_against_doubles(&options, 0);
    memset(&options, 0, sizeof options);
    options.rope_factor = 4.0f;
    check_against_doubles(&options, 0);
    memset(&options, 0, sizeof options);
    options.weight_type = GGUFX_TYPE_Q8_0;
    check_against_doubles(&options, 0);
    memset(&options, 0, sizeof options);
    options.skip = "llama.attention.head_count_kv"; /* then q and k differ: refused, not guessed */
    {
        fixture f;
        begin(&f, &options);
        FAILS(&f, GGUFX_E_SHAPE, "attn_k",
              ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
        end(&f);
    }
}

/* The greedy continuation of the random model: the same ids on every machine. */
static void test_greedy_ids_are_those_of_every_machine(void **state) {
    static const int32_t plain[12] = {6, 301, 169, 56, 108, 41, 50, 156, 156, 156, 156, 296};
    static const int32_t q8_0[12] = {6, 6, 6, 6, 206, 301, 249, 249, 108, 214, 296, 296};
    (void)state;
    for (int quantized = 0; quantized < 2; quantized++) {
        tiny_options options;
        int32_t tokens[6];
        float logits[TINY_VOCAB];
        fixture f;
        memset(&options, 0, sizeof options);
        options.weight_type = quantized ? GGUFX_TYPE_Q8_0 : GGUFX_TYPE_F32;
        begin_session(&f, &options, 0);
        make_tokens(tokens, 6);
        decode(&f, tokens, 6);
        for (int i = 0; i < 12; i++) {
            int32_t id;
            get_logits(&f, logits);
            id = argmax(logits, TINY_VOCAB);
            assert_int_equal(id, (quantized ? q8_0 : plain)[i]);
            decode(&f, &id, 1);
        }
        end(&f);
    }
}

/* FNV-1a over the bits of the logits: one value for every instruction set and thread count. */
static void test_logits_have_the_same_bits_for_any_isa_and_thread_count(void **state) {
    static const int32_t isas[] = {GGUFX_ISA_SCALAR, GGUFX_ISA_BEST, GGUFX_ISA_BEST};
    static const uint32_t threads[] = {1, 1, 4};
    uint64_t first[2] = {0, 0};
    int32_t tokens[N];
    (void)state;
    make_tokens(tokens, N);
    for (int run = 0; run < 6; run++) {
        float logits[TINY_VOCAB];
        uint64_t hash = 0xcbf29ce484222325u;
        ggufx_runtime_options rt_options;
        tiny_options options;
        fixture f;
        memset(&f, 0, sizeof f);
        memset(&options, 0, sizeof options);
        options.weight_type = run % 2 ? GGUFX_TYPE_Q8_0 : GGUFX_TYPE_F32;
        ggufx_runtime_options_init(&rt_options);
        rt_options.isa = isas[run / 2];
        rt_options.threads = threads[run / 2];
        MUST(&f, ggufx_runtime_create(&f.rt, &rt_options, &f.error));
        MUST(&f, open_tiny(&f.file, f.rt, &options, &f.error));
        MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
        MUST(&f, ggufx_session_create(&f.session, f.model, NULL, &f.error));
        decode(&f, tokens, N - 1);
        decode(&f, tokens + N - 1, 1);
        get_logits(&f, logits);
        for (int i = 0; i < TINY_VOCAB; i++) {
            uint32_t bits;
            memcpy(&bits, &logits[i], 4);
            hash = (hash ^ bits) * 0x100000001b3u;
        }
        if (run < 2) first[run] = hash;
        assert_true(hash == first[run % 2]);
        ggufx_session_destroy(f.session);
        ggufx_model_destroy(f.model);
        ggufx_file_destroy(f.file);
        ggufx_runtime_destroy(f.rt);
    }
    assert_true(first[0] != first[1]);
}

static void test_decode_gives_the_same_bits_however_single_tokens_come(void **state) {
    float a[TINY_VOCAB], b[TINY_VOCAB];
    int32_t tokens[N];
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 1);
    decode(&f, tokens, N);
    get_logits(&f, a);
    MUST(&f, ggufx_session_truncate(f.session, 0, &f.error));
    for (int i = 0; i < N; i++) decode(&f, tokens + i, 1);
    get_logits(&f, b);
    assert_memory_equal(a, b, sizeof a);
    end(&f);
}

static void test_invariant_products_make_batches_and_single_tokens_equal(void **state) {
    float a[TINY_VOCAB], b[TINY_VOCAB], plain[TINY_VOCAB];
    int32_t tokens[N];
    ggufx_session_options options;
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 0);
    decode(&f, tokens, N);
    get_logits(&f, plain);
    ggufx_session_destroy(f.session);
    ggufx_session_options_init(&options);
    options.type_k = options.type_v = GGUFX_KV_F32;
    options.matmul_flags = GGUFX_MATMUL_F32 | GGUFX_MATMUL_BATCH_INVARIANT;
    MUST(&f, ggufx_session_create(&f.session, f.model, &options, &f.error));
    decode(&f, tokens, N);
    get_logits(&f, a);
    MUST(&f, ggufx_session_truncate(f.session, 0, &f.error));
    for (int i = 0; i < N; i++) decode(&f, tokens + i, 1);
    get_logits(&f, b);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, plain, sizeof a);
    end(&f);
}

static void test_truncate_forgets_and_repeats_exactly(void **state) {
    float a[TINY_VOCAB], b[TINY_VOCAB];
    int32_t tokens[N];
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 0);
    decode(&f, tokens, 20);
    decode(&f, tokens + 20, 1);
    get_logits(&f, a);
    MUST(&f, ggufx_session_truncate(f.session, 20, &f.error));
    assert_int_equal(ggufx_session_length(f.session), 20);
    FAILS(&f, GGUFX_E_STATE, "", ggufx_session_logits(b, TINY_VOCAB, f.session, &f.error));
    decode(&f, tokens + 30, 5); /* another way, then back */
    MUST(&f, ggufx_session_truncate(f.session, 20, &f.error));
    decode(&f, tokens + 20, 1);
    get_logits(&f, b);
    assert_memory_equal(a, b, sizeof a);
    FAILS(&f, GGUFX_E_ARGUMENT, "22", ggufx_session_truncate(f.session, 22, &f.error));
    end(&f);
}

static void test_session_kv_types_stay_near_f32(void **state) {
    static const uint32_t types[] = {GGUFX_KV_DEFAULT, GGUFX_KV_F16, GGUFX_KV_BF16, GGUFX_KV_Q8_0};
    /* Of logits with a spread of about 3: relative error of a cached value times the few layers. */
    static const double limits[] = {0.02, 0.02, 0.15, 0.15};
    float want[TINY_VOCAB], got[TINY_VOCAB];
    int32_t tokens[N];
    (void)state;
    make_tokens(tokens, N);
    for (int i = 0; i < 4; i++) {
        ggufx_session_options options;
        double worst = 0;
        fixture f;
        begin_session(&f, NULL, 0);
        decode(&f, tokens, N);
        get_logits(&f, want);
        ggufx_session_destroy(f.session);
        f.session = NULL;
        ggufx_session_options_init(&options);
        options.type_k = options.type_v = types[i];
        MUST(&f, ggufx_session_create(&f.session, f.model, &options, &f.error));
        decode(&f, tokens, N);
        get_logits(&f, got);
        for (int j = 0; j < TINY_VOCAB; j++) {
            worst = fmax(worst, fabs((double)got[j] - (double)want[j]));
        }
        assert_true(worst > 0 && worst <= limits[i]);
        end(&f);
    }
}

static void test_full_context_is_refused_and_nothing_changes(void **state) {
    int32_t tokens[TINY_CONTEXT + 1];
    float a[TINY_VOCAB], b[TINY_VOCAB];
    fixture f;
    (void)state;
    make_tokens(tokens, TINY_CONTEXT + 1);
    begin_session(&f, NULL, 0);
    decode(&f, tokens, TINY_CONTEXT - 1);
    get_logits(&f, a);
    FAILS(&f, GGUFX_E_CAPACITY, "2 tokens",
          ggufx_session_decode(f.session, tokens, 2, NULL, &f.error));
    assert_int_equal(ggufx_session_length(f.session), TINY_CONTEXT - 1);
    get_logits(&f, b);
    assert_memory_equal(a, b, sizeof a);
    decode(&f, tokens, 1);
    assert_int_equal(ggufx_session_length(f.session), TINY_CONTEXT);
    end(&f);
}

static void test_unknown_ids_are_refused_with_their_index(void **state) {
    int32_t tokens[4] = {1, 5, TINY_VOCAB, 6};
    fixture f;
    (void)state;
    begin_session(&f, NULL, 0);
    assert_int_equal(ggufx_session_decode(f.session, tokens, 4, NULL, &f.error), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 2);
    tokens[2] = -1;
    FAILS(&f, GGUFX_E_ARGUMENT, "-1", ggufx_session_decode(f.session, tokens, 4, NULL, &f.error));
    assert_int_equal(ggufx_session_length(f.session), 0);
    end(&f);
}

static void test_a_nan_in_the_model_is_reported_and_nothing_changes(void **state) {
    static const char *const tensors[] = {"output_norm.weight", "blk.1.attn_v.weight",
                                          "blk.0.ffn_down.weight"};
    (void)state;
    for (int i = 0; i < 3; i++) {
        const int32_t tokens[3] = {1, 5, 6};
        float logits[TINY_VOCAB];
        tiny_options options;
        fixture f;
        memset(&options, 0, sizeof options);
        options.nan_tensor = tensors[i];
        begin_session(&f, &options, 0);
        FAILS(&f, GGUFX_E_VALUE, "", ggufx_session_decode(f.session, tokens, 3, NULL, &f.error));
        assert_int_equal(ggufx_session_length(f.session), 0);
        FAILS(&f, GGUFX_E_STATE, "", ggufx_session_logits(logits, TINY_VOCAB, f.session, &f.error));
        end(&f);
    }
}

typedef struct poll {
    int calls, cancel_at;
    uint64_t last, total;
} poll;

static int32_t on_progress(void *user, uint64_t done, uint64_t total) {
    poll *p = user;
    assert_true(done >= p->last && done <= total);
    p->last = done;
    p->total = total;
    return ++p->calls == p->cancel_at;
}

static void test_decode_can_be_cancelled_at_each_poll(void **state) {
    int32_t tokens[N];
    float want[TINY_VOCAB], before[TINY_VOCAB], got[TINY_VOCAB];
    ggufx_status status = GGUFX_E_CANCELLED;
    int cancel_at = 0;
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 8);
    decode(&f, tokens, 10);
    get_logits(&f, before);
    decode(&f, tokens + 10, 30);
    get_logits(&f, want);
    MUST(&f, ggufx_session_truncate(f.session, 0, &f.error));
    decode(&f, tokens, 10);
    while (status != GGUFX_OK) {
        poll p = {0, 0, 0, 0};
        ggufx_progress progress;
        ggufx_decode_options options;
        memset(&progress, 0, sizeof progress);
        progress.struct_size = sizeof progress;
        progress.user = &p;
        progress.report = on_progress;
        ggufx_decode_options_init(&options);
        options.progress = &progress;
        p.cancel_at = ++cancel_at;
        status = ggufx_session_decode(f.session, tokens + 10, 30, &options, &f.error);
        if (status == GGUFX_OK) {
            assert_int_equal(p.total, 30);
            break;
        }
        assert_int_equal(status, GGUFX_E_CANCELLED);
        assert_int_equal(ggufx_session_length(f.session), 10);
        get_logits(&f, got);
        assert_memory_equal(got, before, sizeof got);
    }
    assert_true(cancel_at > 8); /* 4 batches of 2 layers */
    get_logits(&f, got);
    assert_memory_equal(got, want, sizeof got);
    end(&f);
}

static void test_decode_does_not_allocate(void **state) {
    int32_t tokens[N];
    float logits[TINY_VOCAB];
    fixture f;
    (void)state;
    make_tokens(tokens, N);
    begin_session(&f, NULL, 0);
    fault_reset(&f.memory);
    decode(&f, tokens, N);
    decode(&f, tokens, 1);
    get_logits(&f, logits);
    MUST(&f, ggufx_session_truncate(f.session, 3, &f.error));
    decode(&f, tokens, N);
    assert_int_equal(ggufx_session_decode(f.session, tokens, 1000, NULL, NULL), GGUFX_E_CAPACITY);
    assert_int_equal(f.memory.calls, 0);
    end(&f);
}

static ggufx_status use_session(void *context, ggufx_runtime *rt, ggufx_error *error) {
    static const int32_t tokens[5] = {1, 2, 3, 4, 5};
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    (void)context;
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, NULL, error);
    if (status == GGUFX_OK) status = ggufx_session_create(&session, model, NULL, error);
    if (status == GGUFX_OK) status = ggufx_session_decode(session, tokens, 5, NULL, error);
    ggufx_file_destroy(file);
    ggufx_model_destroy(model);
    ggufx_session_destroy(session);
    return status;
}

static void test_session_survives_each_failing_allocation(void **state) {
    (void)state;
    assert_true(fault_run(use_session, NULL) > 10);
}

static void test_session_calls_refuse_bad_arguments(void **state) {
    int32_t tokens[2] = {1, 2};
    float logits[2 * TINY_VOCAB];
    ggufx_session_options session;
    ggufx_decode_options options;
    ggufx_session *made = NULL;
    fixture f;
    (void)state;
    begin_session(&f, NULL, 0);
    ggufx_session_options_init(NULL);
    ggufx_decode_options_init(NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_create(NULL, f.model, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_create(&made, NULL, NULL, &f.error));
    ggufx_session_options_init(&session);
    session.flags = 1;
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_create(&made, f.model, &session, &f.error));
    ggufx_session_options_init(&session);
    session.matmul_flags = 8;
    FAILS(&f, GGUFX_E_ARGUMENT, "matmul_flags",
          ggufx_session_create(&made, f.model, &session, &f.error));
    session.matmul_flags = GGUFX_MATMUL_F32 | GGUFX_MATMUL_PRECISE;
    FAILS(&f, GGUFX_E_ARGUMENT, "matmul_flags",
          ggufx_session_create(&made, f.model, &session, &f.error));
    ggufx_session_options_init(&session);
    session.n_context = 0x80000000u;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_context",
          ggufx_session_create(&made, f.model, &session, &f.error));
    ggufx_session_options_init(&session);
    session.type_k = 77;
    FAILS(&f, GGUFX_E_TYPE, "", ggufx_session_create(&made, f.model, &session, &f.error));
    assert_null(made);
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_decode(NULL, tokens, 2, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_decode(f.session, NULL, 2, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_decode(f.session, tokens, 0, NULL, &f.error));
    ggufx_decode_options_init(&options);
    options.flags = GGUFX_DECODE_ALL_LOGITS;
    FAILS(&f, GGUFX_E_ARGUMENT, "2 tokens x 302",
          ggufx_session_decode(f.session, tokens, 2, &options, &f.error));
    options.logits = logits;
    options.n_logits = TINY_VOCAB;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_logits is 302",
          ggufx_session_decode(f.session, tokens, 2, &options, &f.error));
    options.flags = 0;
    FAILS(&f, GGUFX_E_ARGUMENT, "ALL_LOGITS",
          ggufx_session_decode(f.session, tokens, 2, &options, &f.error));
    options.flags = 2;
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_decode(f.session, tokens, 2, &options, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_logits(NULL, TINY_VOCAB, f.session, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_logits(logits, TINY_VOCAB, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_out", ggufx_session_logits(logits, 5, f.session, &f.error));
    FAILS(&f, GGUFX_E_STATE, "", ggufx_session_logits(logits, TINY_VOCAB, f.session, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_truncate(NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_truncate(f.session, 1, &f.error));
    assert_int_equal(ggufx_session_length(NULL), 0);
    assert_int_equal(ggufx_session_length(f.session), 0);
    ggufx_session_destroy(NULL);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_decode_agrees_with_doubles),
        cmocka_unit_test(test_decode_agrees_with_doubles_for_each_variant_of_the_graph),
        cmocka_unit_test(test_greedy_ids_are_those_of_every_machine),
        cmocka_unit_test(test_logits_have_the_same_bits_for_any_isa_and_thread_count),
        cmocka_unit_test(test_decode_gives_the_same_bits_however_single_tokens_come),
        cmocka_unit_test(test_invariant_products_make_batches_and_single_tokens_equal),
        cmocka_unit_test(test_truncate_forgets_and_repeats_exactly),
        cmocka_unit_test(test_session_kv_types_stay_near_f32),
        cmocka_unit_test(test_full_context_is_refused_and_nothing_changes),
        cmocka_unit_test(test_unknown_ids_are_refused_with_their_index),
        cmocka_unit_test(test_a_nan_in_the_model_is_reported_and_nothing_changes),
        cmocka_unit_test(test_decode_can_be_cancelled_at_each_poll),
        cmocka_unit_test(test_decode_does_not_allocate),
        cmocka_unit_test(test_session_survives_each_failing_allocation),
        cmocka_unit_test(test_session_calls_refuse_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
