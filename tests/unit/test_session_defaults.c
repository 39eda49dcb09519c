/*
 * Defaults of a session's options, and the facts that report them.
 * SPDX-License-Identifier: MIT
 */
#include "session_fixture.h"

#include <string.h>

enum { DEFAULT_CONTEXT = 8192 };

static ggufx_session_facts info(fixture *f) {
    ggufx_session_facts facts = {.struct_size = sizeof facts};
    MUST(f, ggufx_session_info(&facts, f->session, &f->error));
    assert_int_equal(facts.struct_size, sizeof facts);
    assert_int_equal(facts.flags, 0);
    return facts;
}

/* Returns the facts of a session with these options on the tiny model, with this trained context
 * length. */
static ggufx_session_facts made(uint32_t trained, const ggufx_session_options *options) {
    fixture f;
    tiny_options file;
    memset(&file, 0, sizeof file);
    file.change = "llama.context_length";
    file.value = trained;
    begin(&f, &file);
    MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
    MUST(&f, ggufx_session_create(&f.session, f.model, options, &f.error));
    const ggufx_session_facts facts = info(&f);
    ggufx_estimate_options asked = {.struct_size = sizeof asked};
    if (options) asked.n_context = options->n_context;
    ggufx_estimate_facts estimate = {.struct_size = sizeof estimate};
    MUST(&f, ggufx_estimate(&estimate, f.rt, f.file, &asked, &f.error));
    assert_int_equal(estimate.n_context, facts.n_context);
    end(&f);
    return facts;
}

static void test_a_session_takes_the_trained_context_up_to_8192_tokens(void **state) {
    static const uint32_t trained[] = {
        1, 48, DEFAULT_CONTEXT - 1, DEFAULT_CONTEXT, DEFAULT_CONTEXT + 1, 131072};
    (void)state;
    for (size_t i = 0; i < sizeof trained / sizeof *trained; i++) {
        const uint32_t want = trained[i] < DEFAULT_CONTEXT ? trained[i] : DEFAULT_CONTEXT;
        const ggufx_session_facts facts = made(trained[i], NULL);
        assert_int_equal(facts.n_context, want);
        assert_int_equal(facts.n_batch, want < 512 ? want : 512);
        assert_int_equal(facts.type_k, GGUFX_TYPE_F16);
        assert_int_equal(facts.type_v, GGUFX_TYPE_F16);
    }
}

static void test_a_session_takes_what_is_asked_for(void **state) {
    ggufx_session_options options = {.struct_size = sizeof options};
    (void)state;
    options.n_context = DEFAULT_CONTEXT + 7;
    options.n_batch = 3;
    options.flags = GGUFX_SESSION_HAS_TYPE_K;
    options.type_k = GGUFX_TYPE_F32;
    ggufx_session_facts facts = made(20000, &options);
    assert_int_equal(facts.n_context, DEFAULT_CONTEXT + 7);
    assert_int_equal(facts.n_batch, 3);
    assert_int_equal(facts.type_k, GGUFX_TYPE_F32);
    assert_int_equal(facts.type_v, GGUFX_TYPE_F16);
    options.n_batch = 0;
    facts = made(48, &options); /* more than the model was trained on */
    assert_int_equal(facts.n_context, DEFAULT_CONTEXT + 7);
    assert_int_equal(facts.n_batch, 512);
}

/* The facts are right: exactly this many tokens fit. */
static void test_a_session_is_full_where_it_says(void **state) {
    fixture f;
    ggufx_session_options options = {.struct_size = sizeof options};
    int32_t tokens[N];
    (void)state;
    make_tokens(tokens, N);
    begin(&f, NULL);
    MUST(&f, ggufx_model_create(&f.model, f.rt, f.file, NULL, &f.error));
    options.n_context = 11;
    MUST(&f, ggufx_session_create(&f.session, f.model, &options, &f.error));
    const uint32_t n = info(&f).n_context;
    FAILS(&f, GGUFX_E_CAPACITY, "12 tokens do not fit: 0 of 11",
          decode_ids(f.session, tokens, n + 1, NULL, 0, &f.error));
    decode(&f, tokens, n, NULL);
    FAILS(&f, GGUFX_E_CAPACITY, "11 of 11 are used",
          decode_ids(f.session, tokens, 1, NULL, 0, &f.error));
    assert_int_equal(info(&f).n_context, 11);
    end(&f);
}

static void test_session_info_checks_its_arguments(void **state) {
    fixture f;
    ggufx_session_facts facts, before;
    (void)state;
    begin_session(&f, NULL, 0);
    memset(&facts, 0x5a, sizeof facts);
    facts.struct_size = sizeof facts;
    before = facts;
    FAILS(&f, GGUFX_E_ARGUMENT, "session", ggufx_session_info(&facts, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_session_info(NULL, f.session, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "session",
          ggufx_session_info(&facts, (const ggufx_session *)(const void *)f.model, &f.error));
    facts.struct_size = before.struct_size = 0;
    FAILS(&f, GGUFX_E_ARGUMENT, "ggufx_session_facts",
          ggufx_session_info(&facts, f.session, &f.error));
    assert_memory_equal(&facts, &before, sizeof facts);
    facts.struct_size = 12; /* from an older host: filled up to its size */
    MUST(&f, ggufx_session_info(&facts, f.session, &f.error));
    assert_int_equal(facts.n_context, TINY_CONTEXT);
    assert_int_equal(facts.n_batch, before.n_batch);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_session_takes_the_trained_context_up_to_8192_tokens),
        cmocka_unit_test(test_a_session_takes_what_is_asked_for),
        cmocka_unit_test(test_a_session_is_full_where_it_says),
        cmocka_unit_test(test_session_info_checks_its_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
