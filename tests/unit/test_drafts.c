/*
 * Drafts of generators: refusals, a full context, every allocation failing, generators of one model
 * on many threads.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "ok.h"
#include "session_fixture.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, TOKENS = 24 };

static ggufx_session *new_session(const ggufx_model *model) {
    ggufx_session *session = NULL;
    OK(ggufx_session_create(&session, model, NULL, ok_error()));
    return session;
}

static ggufx_status create(ggufx_generator **out, ggufx_session *session,
                           const ggufx_draft_options *draft, ggufx_error *error) {
    const ggufx_generator_options options = {.struct_size = sizeof options,
                                             .flags = GGUFX_GENERATOR_IDS_ONLY |
                                                      GGUFX_GENERATOR_IGNORE_EOG,
                                             .draft = draft};
    return ggufx_generator_create(out, session, &options, error);
}

static ggufx_status prompt(ggufx_generator *generator, ggufx_error *error) {
    int32_t tokens[N];
    ggufx_prompt given = {.struct_size = sizeof given, .tokens = tokens, .n_tokens = N};
    make_tokens(tokens, N);
    return ggufx_generator_set_prompt(generator, &given, error);
}

static void test_options_are_refused_by_name(void **state) {
    fixture f;
    ggufx_generator *generator = NULL;
    ggufx_draft_options draft = {.struct_size = sizeof draft, .n_draft = 32};
    ggufx_session *other = NULL;
    (void)state;
    begin_session(&f, NULL, 0);
#define REFUSED(status, text)                                                                      \
    FAILS(&f, status, text, create(&generator, f.session, &draft, &f.error))
    REFUSED(GGUFX_E_LIMIT, "n_draft is 32");
    draft.n_draft = 0;
    draft.n_match = 33;
    REFUSED(GGUFX_E_LIMIT, "n_match is 33");
    draft.n_match = 0;
    draft.sequence = 1;
    REFUSED(GGUFX_E_ARGUMENT, "sequence needs a session");
    draft.session = other = new_session(f.model);
    REFUSED(GGUFX_E_ARGUMENT, "the session has 1 sequences");
    draft.sequence = 0;
    draft.n_match = 2;
    REFUSED(GGUFX_E_ARGUMENT, "n_match needs prompt lookup");
    draft.n_match = 0;
    draft.session = f.session;
    REFUSED(GGUFX_E_ARGUMENT, "another session");
    draft.session = (ggufx_session *)f.model;
    REFUSED(GGUFX_E_ARGUMENT, "must be a session");
    draft.session = NULL;
    draft.struct_size = 4;
    REFUSED(GGUFX_E_ARGUMENT, "struct_size");
    assert_null(generator);
    ggufx_session_destroy(other);
    end(&f);
}

static void test_a_draft_of_another_vocabulary_is_refused(void **state) {
    const tiny_options duplicates = {.vocab_fault = TINY_VOCAB_DUPLICATES}, none = {.no_vocab = 1};
    const tiny_options *const others[] = {&duplicates, &none};
    fixture f;
    (void)state;
    begin_session(&f, NULL, 0);
    for (size_t i = 0; i < 2; i++) {
        ggufx_file *file = NULL;
        ggufx_model *model = NULL;
        ggufx_generator *generator = NULL;
        ggufx_draft_options draft = {.struct_size = sizeof draft};
        assert_int_equal(open_tiny(&file, f.rt, others[i], NULL), GGUFX_OK);
        OK(ggufx_model_create(&model, f.rt, file, NULL, ok_error()));
        draft.session = new_session(model);
        REFUSED(GGUFX_E_MISMATCH, i ? "have text" : "another text");
        assert_null(generator);
        ggufx_session_destroy(draft.session);
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
    end(&f);
}

/* Generates `most` ids, or up to the end; returns their number, and why it ended. */
static size_t generate(ggufx_session *session, const ggufx_draft_options *draft, int32_t *out,
                       size_t most, ggufx_end *end) {
    ggufx_generator *generator = NULL;
    ggufx_event event = {.struct_size = sizeof event};
    size_t n = 0;
    OK(create(&generator, session, draft, ok_error()));
    OK(prompt(generator, ok_error()));
    while (n < most) {
        OK(ggufx_generator_next(&event, generator, NULL, ok_error()));
        if (event.kind == GGUFX_EVENT_END) break;
        for (size_t i = 0; i < event.n_tokens && n < most; i++) out[n++] = event.tokens[i].id;
    }
    *end = event.end;
    ggufx_generator_destroy(generator);
    return n;
}

/* Up to the last position of the context. */
static void test_a_full_context_ends_the_text(void **state) {
    fixture f;
    int32_t want[TINY_CONTEXT], got[TINY_CONTEXT];
    (void)state;
    begin_session(&f, NULL, 0);
    ggufx_session *const small = new_session(f.model);
    ggufx_end ended = 0;
    const size_t n = generate(f.session, NULL, want, TINY_CONTEXT, &ended);
    assert_int_equal(ended, GGUFX_END_CONTEXT);
    assert_true(n >= TINY_CONTEXT - N);
    for (int by_model = 0; by_model < 2; by_model++) {
        const ggufx_draft_options draft = {
            .struct_size = sizeof draft, .session = by_model ? small : NULL, .n_draft = 31};
        MUST(&f, ggufx_session_truncate(f.session, 0, 0, &f.error));
        assert_int_equal(generate(f.session, &draft, got, TINY_CONTEXT, &ended), n);
        assert_int_equal(ended, GGUFX_END_CONTEXT);
        assert_memory_equal(got, want, n * sizeof *got);
    }
    ggufx_session_destroy(small);
    end(&f);
}

typedef struct worker {
    const ggufx_model *model;
    int32_t ids[TOKENS];
} worker;

static void *run_worker(void *user) {
    const ggufx_draft_options draft = {.struct_size = sizeof draft, .n_match = 1};
    worker *w = user;
    ggufx_end ended = 0;
    ggufx_session *const session = new_session(w->model);
    assert_int_equal(generate(session, &draft, w->ids, TOKENS, &ended), TOKENS);
    ggufx_session_destroy(session);
    return NULL;
}

static void test_generators_of_one_model_run_on_many_threads(void **state) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    int32_t want[TOKENS];
    ggufx_end ended = 0;
    (void)state;
    OK(ggufx_runtime_create(&rt, NULL, ok_error()));
    assert_int_equal(open_tiny(&file, rt, NULL, NULL), GGUFX_OK);
    OK(ggufx_model_create(&model, rt, file, NULL, ok_error()));
    ggufx_session *const session = new_session(model);
    assert_int_equal(generate(session, NULL, want, TOKENS, &ended), TOKENS);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.model = model};
        assert_int_equal(pthread_create(&threads[i], NULL, run_worker, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_memory_equal(workers[i].ids, want, sizeof want);
    }
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

/* Creates all objects, then generates; a failing allocation changes nothing. */
static ggufx_status all_of_it(void *context, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL, *small = NULL;
    ggufx_generator *generator = NULL;
    ggufx_draft_options draft = {.struct_size = sizeof draft};
    ggufx_event event = {.struct_size = sizeof event};
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    if (!status) status = ggufx_model_create(&model, rt, file, NULL, error);
    if (!status) status = ggufx_session_create(&session, model, NULL, error);
    if (!status) status = ggufx_session_create(&small, model, NULL, error);
    if (*(const int *)context) draft.session = small;
    if (!status) status = create(&generator, session, &draft, error);
    if (status) assert_null(generator);
    if (!status) status = prompt(generator, error);
    for (int i = 0; i < 8 && !status; i++)
        status = ggufx_generator_next(&event, generator, NULL, error);
    ggufx_generator_destroy(generator);
    ggufx_session_destroy(small);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    return status;
}

static void test_every_allocation_may_fail(void **state) {
    (void)state;
    for (int by_model = 0; by_model < 2; by_model++)
        assert_true(fault_run(all_of_it, &by_model) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_are_refused_by_name),
        cmocka_unit_test(test_a_draft_of_another_vocabulary_is_refused),
        cmocka_unit_test(test_a_full_context_ends_the_text),
        cmocka_unit_test(test_generators_of_one_model_run_on_many_threads),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
