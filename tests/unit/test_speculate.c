/*
 * Speculators: refusals, state after failing calls, every allocation failing, speculators of one
 * model on many threads.
 * SPDX-License-Identifier: MIT
 */
#include "fault.h"
#include "ok.h"
#include "session_fixture.h"

#include <pthread.h>
#include <string.h>

enum { THREADS = 4, TOKENS = 24 };

static ggufx_session_options session_options(void) {
    ggufx_session_options options = {.struct_size = sizeof options};
    options.matmul_flags = GGUFX_MATMUL_BATCH_INVARIANT;
    return options;
}

static ggufx_session *new_session(const ggufx_model *model) {
    const ggufx_session_options options = session_options();
    ggufx_session *session = NULL;
    OK(ggufx_session_create(&session, model, &options, ok_error()));
    return session;
}

static ggufx_sampler *new_sampler(const ggufx_runtime *rt) {
    ggufx_sampler *sampler = NULL;
    OK(ggufx_sampler_create(&sampler, rt, TINY_VOCAB, NULL, ok_error()));
    return sampler;
}

static void begin_invariant(fixture *f) {
    begin_session(f, NULL, 0);
    ggufx_session_destroy(f->session);
    f->session = new_session(f->model);
}

static size_t too_many(void *user, int32_t *out, size_t most, const int32_t *text, size_t n_text,
                       int32_t last) {
    (void)user;
    (void)text;
    (void)n_text;
    for (size_t i = 0; i < most; i++) out[i] = last;
    return most + 1;
}

static size_t outside(void *user, int32_t *out, size_t most, const int32_t *text, size_t n_text,
                      int32_t last) {
    (void)user;
    (void)text;
    (void)n_text;
    (void)last;
    out[0] = TINY_VOCAB;
    return most ? 1 : 0;
}

static void test_options_are_refused_by_name(void **state) {
    static const int32_t beyond[2] = {1, TINY_VOCAB};
    fixture f;
    ggufx_speculator *speculator = NULL;
    ggufx_speculator_options options = {.struct_size = sizeof options};
    ggufx_session *other = NULL;
    (void)state;
    begin_invariant(&f);
    FAILS(&f, GGUFX_E_ARGUMENT, "must be set",
          ggufx_speculator_create(NULL, f.session, &options, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "must be set",
          ggufx_speculator_create(&speculator, NULL, &options, &f.error));
    options.n_draft = GGUFX_SPECULATOR_MOST_DRAFTED + 1;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_draft is 32",
          ggufx_speculator_create(&speculator, f.session, &options, &f.error));
    options.n_draft = 0;
    options.n_match = 33;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_match is 33",
          ggufx_speculator_create(&speculator, f.session, &options, &f.error));
    options.n_match = 0;
    options.stops = beyond;
    options.n_stops = 2;
    assert_int_equal(ggufx_speculator_create(&speculator, f.session, &options, &f.error),
                     GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 1);
    FAILS(&f, GGUFX_E_ARGUMENT, "id 302",
          ggufx_speculator_create(&speculator, f.session, &options, &f.error));
    options.n_stops = GGUFX_SPECULATOR_MOST_STOPS + 1;
    FAILS(&f, GGUFX_E_LIMIT, "n_stops is 1025",
          ggufx_speculator_create(&speculator, f.session, &options, &f.error));
    options.stops = NULL;
    options.n_stops = 0;
    options.user = &f;
    FAILS(&f, GGUFX_E_ARGUMENT, "user needs guess",
          ggufx_speculator_create(&speculator, f.session, &options, &f.error));
    options.user = NULL;
    options.draft = f.session;
    FAILS(&f, GGUFX_E_ARGUMENT, "another session",
          ggufx_speculator_create(&speculator, f.session, &options, &f.error));
    options.draft = other = new_session(f.model);
    options.guess = outside;
    FAILS(&f, GGUFX_E_ARGUMENT, "exclude each other",
          ggufx_speculator_create(&speculator, f.session, &options, &f.error));
    ggufx_session_destroy(other);
    OK(ggufx_session_create(&other, f.model, NULL, ok_error()));
    FAILS(&f, GGUFX_E_ARGUMENT, "BATCH_INVARIANT or TILES",
          ggufx_speculator_create(&speculator, other, NULL, &f.error));
    ggufx_session_destroy(other);
    assert_null(speculator);
    ggufx_speculator_destroy(NULL);
    end(&f);
}

static void test_a_draft_of_another_vocabulary_is_refused(void **state) {
    const tiny_options duplicates = {.vocab_fault = TINY_VOCAB_DUPLICATES}, none = {.no_vocab = 1};
    const tiny_options *const others[] = {&duplicates, &none};
    fixture f;
    (void)state;
    begin_invariant(&f);
    for (size_t i = 0; i < 2; i++) {
        ggufx_file *file = NULL;
        ggufx_model *model = NULL;
        ggufx_speculator *speculator = NULL;
        ggufx_speculator_options options = {.struct_size = sizeof options};
        assert_int_equal(open_tiny(&file, f.rt, others[i], NULL), GGUFX_OK);
        OK(ggufx_model_create(&model, f.rt, file, NULL, ok_error()));
        options.draft = new_session(model);
        FAILS(&f, GGUFX_E_MISMATCH, i ? "have text" : "another text",
              ggufx_speculator_create(&speculator, f.session, &options, &f.error));
        ggufx_session_destroy(options.draft);
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
    end(&f);
}

/* Returns a speculator on the session of `f`, which holds N tokens, after its first token. */
static ggufx_speculator *begun(fixture *f, ggufx_sampler *sampler,
                               const ggufx_speculator_options *options) {
    int32_t tokens[N], id = 0;
    size_t n = 0;
    ggufx_speculator *speculator = NULL;
    make_tokens(tokens, N);
    MUST(f, ggufx_speculator_create(&speculator, f->session, options, &f->error));
    FAILS(f, GGUFX_E_STATE, "no token was decoded",
          ggufx_speculator_next(&id, NULL, 1, &n, speculator, sampler, NULL, NULL, &f->error));
    decode(f, tokens, N);
    MUST(f, ggufx_speculator_next(&id, NULL, 1, &n, speculator, sampler, NULL, NULL, &f->error));
    assert_int_equal(n, 1);
    return speculator;
}

static void test_wrong_guesses_of_a_host_change_nothing(void **state) {
    size_t (*const wrong[])(void *, int32_t *, size_t, const int32_t *, size_t,
                            int32_t) = {too_many, outside};
    fixture f;
    (void)state;
    begin_invariant(&f);
    ggufx_sampler *const sampler = new_sampler(f.rt);
    for (size_t i = 0; i < 2; i++) {
        int32_t ids[4];
        size_t n = 9;
        ggufx_speculator_options options = {.struct_size = sizeof options};
        options.guess = wrong[i];
        MUST(&f, ggufx_session_truncate(f.session, 0, &f.error));
        ggufx_speculator *const speculator = begun(&f, sampler, &options);
        FAILS(&f, GGUFX_E_ARGUMENT, i ? "vocabulary" : "draft tokens were given",
              ggufx_speculator_next(ids, NULL, 4, &n, speculator, sampler, NULL, NULL, &f.error));
        assert_int_equal(n, 0);
        assert_int_equal(ggufx_session_length(f.session), N);
        /* no room, no draft tokens */
        MUST(&f,
             ggufx_speculator_next(ids, NULL, 1, &n, speculator, sampler, NULL, NULL, &f.error));
        assert_int_equal(n, 1);
        FAILS(&f, GGUFX_E_ARGUMENT, "capacity",
              ggufx_speculator_next(ids, NULL, 0, &n, speculator, sampler, NULL, NULL, &f.error));
        FAILS(&f, GGUFX_E_ARGUMENT, "sampler",
              ggufx_speculator_next(ids, NULL, 4, &n, speculator, NULL, NULL, NULL, &f.error));
        ggufx_speculator_destroy(speculator);
    }
    ggufx_sampler_destroy(sampler);
    end(&f);
}

/* Up to the last position of the context, and again after a truncation. */
static void test_a_full_context_ends_the_text(void **state) {
    fixture f;
    (void)state;
    begin_invariant(&f);
    ggufx_sampler *const sampler = new_sampler(f.rt);
    ggufx_speculator *const speculator = begun(&f, sampler, NULL);
    int32_t ids[32];
    size_t n = 0;
    ggufx_status status = GGUFX_OK;
    while (status == GGUFX_OK)
        status =
            ggufx_speculator_next(ids, NULL, 32, &n, speculator, sampler, NULL, NULL, &f.error);
    assert_int_equal(status, GGUFX_E_CAPACITY);
    assert_int_equal(ggufx_session_length(f.session), TINY_CONTEXT);
    MUST(&f, ggufx_session_truncate(f.session, 10, &f.error));
    FAILS(&f, GGUFX_E_STATE, "no token was decoded",
          ggufx_speculator_next(ids, NULL, 4, &n, speculator, sampler, NULL, NULL, &f.error));
    decode(&f, (const int32_t[]){7}, 1);
    MUST(&f, ggufx_speculator_next(ids, NULL, 4, &n, speculator, sampler, NULL, NULL, &f.error));
    assert_int_equal(ggufx_session_length(f.session), 11);
    ggufx_speculator_destroy(speculator);
    ggufx_sampler_destroy(sampler);
    end(&f);
}

/* Generates ids with `model`, by speculative decoding or token by token. */
static void generate(const ggufx_runtime *rt, const ggufx_model *model, int guessed, int32_t *out) {
    int32_t tokens[N];
    float logits[TINY_VOCAB];
    ggufx_session *const session = new_session(model);
    ggufx_sampler *const sampler = new_sampler(rt);
    ggufx_speculator *speculator = NULL;
    make_tokens(tokens, N);
    OK(ggufx_session_decode(session, tokens, N, NULL, ok_error()));
    if (guessed) OK(ggufx_speculator_create(&speculator, session, NULL, ok_error()));
    for (size_t done = 0, n = 1; done < TOKENS; done += n) {
        if (guessed) {
            OK(ggufx_speculator_next(out + done, NULL, TOKENS - done, &n, speculator, sampler, NULL,
                                     NULL, ok_error()));
            continue;
        }
        OK(ggufx_session_logits(logits, TINY_VOCAB, session, ok_error()));
        OK(ggufx_sampler_sample(out + done, NULL, sampler, logits, TINY_VOCAB, ok_error()));
        OK(ggufx_session_decode(session, out + done, 1, NULL, ok_error()));
    }
    ggufx_speculator_destroy(speculator);
    ggufx_sampler_destroy(sampler);
    ggufx_session_destroy(session);
}

typedef struct worker {
    const ggufx_runtime *rt;
    const ggufx_model *model;
    int32_t ids[TOKENS];
} worker;

static void *run_worker(void *user) {
    worker *w = user;
    generate(w->rt, w->model, 1, w->ids);
    return NULL;
}

static void test_speculators_of_one_model_run_on_many_threads(void **state) {
    ggufx_runtime *rt = NULL;
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    pthread_t threads[THREADS];
    worker workers[THREADS];
    int32_t want[TOKENS];
    (void)state;
    OK(ggufx_runtime_create(&rt, NULL, ok_error()));
    assert_int_equal(open_tiny(&file, rt, NULL, NULL), GGUFX_OK);
    OK(ggufx_model_create(&model, rt, file, NULL, ok_error()));
    generate(rt, model, 0, want);
    for (size_t i = 0; i < THREADS; i++) {
        workers[i] = (worker){.rt = rt, .model = model};
        assert_int_equal(pthread_create(&threads[i], NULL, run_worker, &workers[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_memory_equal(workers[i].ids, want, sizeof want);
    }
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    ggufx_runtime_destroy(rt);
}

/* Creates all objects, then steps; a failing allocation changes nothing. */
static ggufx_status all_of_it(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const ggufx_session_options session_made = session_options();
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL, *draft = NULL;
    ggufx_sampler *sampler = NULL;
    ggufx_speculator *speculator = NULL;
    ggufx_speculator_options options = {.struct_size = sizeof options};
    const int32_t tokens[] = {1, 5, 9, 5, 9, 5};
    int32_t ids[8];
    size_t n = 0;
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    if (!status) status = ggufx_model_create(&model, rt, file, NULL, error);
    if (!status) status = ggufx_session_create(&session, model, &session_made, error);
    if (!status) status = ggufx_session_create(&draft, model, &session_made, error);
    if (!status) status = ggufx_sampler_create(&sampler, rt, TINY_VOCAB, NULL, error);
    if (*(const int *)context) options.draft = draft;
    if (!status) status = ggufx_speculator_create(&speculator, session, &options, error);
    if (status) assert_null(speculator);
    if (!status) status = ggufx_session_decode(session, tokens, 6, NULL, error);
    for (int i = 0; i < 3 && !status; i++)
        status = ggufx_speculator_next(ids, NULL, 8, &n, speculator, sampler, NULL, NULL, error);
    ggufx_speculator_destroy(speculator);
    ggufx_sampler_destroy(sampler);
    ggufx_session_destroy(draft);
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
        cmocka_unit_test(test_wrong_guesses_of_a_host_change_nothing),
        cmocka_unit_test(test_a_full_context_ends_the_text),
        cmocka_unit_test(test_speculators_of_one_model_run_on_many_threads),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
