/*
 * Sessions: refused calls, which change nothing.
 * SPDX-License-Identifier: MIT
 */
#include "session_fixture.h"

#include <string.h>

static void test_full_context_is_refused_and_nothing_changes(void **state) {
    int32_t tokens[TINY_CONTEXT + 1];
    float a[TINY_VOCAB], b[TINY_VOCAB];
    fixture f;
    (void)state;
    make_tokens(tokens, TINY_CONTEXT + 1);
    begin_session(&f, NULL, 0);
    decode(&f, tokens, TINY_CONTEXT - 1, NULL);
    decode(&f, tokens, 1, a);
    MUST(&f, ggufx_session_truncate(f.session, 0, TINY_CONTEXT - 1, &f.error));
    const ggufx_status full = decode_ids(f.session, tokens, 2, NULL, 0, &f.error);
    assert_true(f.error.value == 2 && f.error.limit == 1);
    FAILS(&f, GGUFX_E_CAPACITY, "2 tokens", full);
    assert_int_equal(ggufx_session_length(f.session, 0), TINY_CONTEXT - 1);
    decode(&f, tokens, 1, b);
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(ggufx_session_length(f.session, 0), TINY_CONTEXT);
    end(&f);
}

static void test_unknown_ids_are_refused_with_their_index(void **state) {
    int32_t tokens[4] = {1, 5, TINY_VOCAB, 6};
    fixture f;
    (void)state;
    begin_session(&f, NULL, 0);
    FAILS(&f, GGUFX_E_ARGUMENT, "token 2 is 302",
          decode_ids(f.session, tokens, 4, NULL, 0, &f.error));
    tokens[2] = -1;
    FAILS(&f, GGUFX_E_ARGUMENT, "token 2 is -1",
          decode_ids(f.session, tokens, 4, NULL, 0, &f.error));
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
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
        FAILS(&f, GGUFX_E_VALUE, "",
              decode_ids(f.session, tokens, 3, logits, TINY_VOCAB, &f.error));
        assert_int_equal(ggufx_session_length(f.session, 0), 0);
        end(&f);
    }
}

static void test_a_batch_keeps_nan_if_it_is_asked_to(void **state) {
    const int32_t tokens[3] = {1, 5, 6};
    float logits[TINY_VOCAB];
    const ggufx_decode_item item = {
        .struct_size = sizeof item, .flags = GGUFX_DECODE_LOGITS, .tokens = tokens, .n_tokens = 3};
    ggufx_decode_options batch = {
        .struct_size = sizeof batch, .logits = logits, .n_logits = TINY_VOCAB};
    tiny_options options;
    fixture f;
    (void)state;
    memset(&options, 0, sizeof options);
    options.nan_tensor = "output_norm.weight";
    begin_session(&f, &options, 0);
    FAILS(&f, GGUFX_E_VALUE, "NaN", ggufx_session_decode(f.session, &item, 1, &batch, &f.error));
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    batch.flags = GGUFX_DECODE_KEEP_NAN;
    MUST(&f, ggufx_session_decode(f.session, &item, 1, &batch, &f.error));
    assert_int_equal(ggufx_session_length(f.session, 0), 3);
    assert_true(logits[0] != logits[0]);
    end(&f);
}

static void test_session_calls_refuse_bad_arguments(void **state) {
    int32_t tokens[2] = {1, 2};
    float logits[2 * TINY_VOCAB];
    ggufx_session_options session = {.struct_size = sizeof session};
    ggufx_decode_options options = {.struct_size = sizeof options};
    ggufx_session *made = NULL;
    fixture f;
    (void)state;
    begin_session(&f, NULL, 0);
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_create(NULL, f.model, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_create(&made, NULL, NULL, &f.error));
    session.flags = 4;
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_create(&made, f.model, &session, &f.error));
    session = (ggufx_session_options){.struct_size = sizeof(ggufx_session_options)};
    session.matmul_flags = 16;
    FAILS(&f, GGUFX_E_ARGUMENT, "matmul_flags",
          ggufx_session_create(&made, f.model, &session, &f.error));
    session.matmul_flags = GGUFX_MATMUL_F32 | GGUFX_MATMUL_INT16;
    FAILS(&f, GGUFX_E_ARGUMENT, "matmul_flags",
          ggufx_session_create(&made, f.model, &session, &f.error));
    session = (ggufx_session_options){.struct_size = sizeof(ggufx_session_options)};
    session.n_context = 0x80000000u;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_context",
          ggufx_session_create(&made, f.model, &session, &f.error));
    session = (ggufx_session_options){.struct_size = sizeof(ggufx_session_options)};
    session.n_context = 1;
    session.n_sequences = 65537;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_sequences is 65537, the limit is 65536",
          ggufx_session_create(&made, f.model, &session, &f.error));
    session.n_sequences = 65536;
    MUST(&f, ggufx_session_create(&made, f.model, &session, &f.error));
    ggufx_session_destroy(made);
    session = (ggufx_session_options){.struct_size = sizeof(ggufx_session_options)};
    session.type_k = 77;
    FAILS(&f, GGUFX_E_TYPE, "", ggufx_session_create(&made, f.model, &session, &f.error));
    assert_null(made);
    FAILS(&f, GGUFX_E_ARGUMENT, "", decode_ids(NULL, tokens, 2, NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", decode_ids(f.session, NULL, 2, NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", decode_ids(f.session, tokens, 0, NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "2 rows x 302",
          decode_all(f.session, tokens, 2, NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_logits is 302",
          decode_all(f.session, tokens, 2, logits, TINY_VOCAB, &f.error));
    options.logits = logits;
    options.n_logits = TINY_VOCAB;
    FAILS(&f, GGUFX_E_ARGUMENT, "0 rows", decode_with(f.session, tokens, 2, 0, &options, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_truncate(NULL, 0, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_session_truncate(f.session, 0, 1, &f.error));
    assert_int_equal(ggufx_session_length(NULL, 0), 0);
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    ggufx_session_destroy(NULL);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_full_context_is_refused_and_nothing_changes),
        cmocka_unit_test(test_unknown_ids_are_refused_with_their_index),
        cmocka_unit_test(test_a_nan_in_the_model_is_reported_and_nothing_changes),
        cmocka_unit_test(test_a_batch_keeps_nan_if_it_is_asked_to),
        cmocka_unit_test(test_session_calls_refuse_bad_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
