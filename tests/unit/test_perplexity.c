/*
 * Perplexity: the counting rule against doubles, cancellation, misuse.
 * SPDX-License-Identifier: MIT
 */
#include "model_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 24, N = 3 * CHUNK + 5 };

static void make_tokens(int32_t *tokens) {
    for (size_t i = 0; i < N; i++) tokens[i] = (int32_t)((i * i * 17 + 3 * i + 9) % TINY_VOCAB);
}

/* Computes mean and mean square of the losses at positions CHUNK/2 .. CHUNK-2 of n_chunks
 * chunks. */
static void expect(const int32_t *tokens, int32_t bos, int n_chunks, double *mean, double *square) {
    double *logits = malloc(CHUNK * TINY_VOCAB * sizeof *logits);
    int n = 0;
    *mean = *square = 0;
    for (int c = 0; c < n_chunks; c++) {
        int32_t chunk[CHUNK];
        memcpy(chunk, tokens + c * CHUNK, sizeof chunk);
        if (bos >= 0) chunk[0] = bos;
        tiny_reference(logits, chunk, CHUNK, NULL);
        for (int i = CHUNK / 2; i <= CHUNK - 2; i++) {
            double sum = 0, loss;
            for (int k = 0; k < TINY_VOCAB; k++) sum += exp(logits[i * TINY_VOCAB + k]);
            loss = log(sum) - logits[i * TINY_VOCAB + chunk[i + 1]];
            *mean += loss;
            *square += loss * loss;
            n++;
        }
    }
    *mean /= n;
    *square /= n;
    free(logits);
}

typedef struct reports {
    int n, stop_at;
    double last;
} reports;

static int32_t on_report(void *user, const ggufx_eval_facts *running) {
    reports *r = user;
    r->n++;
    assert_int_equal(running->n_chunks, r->n);
    assert_int_equal(running->n_scored, r->n * (CHUNK / 2 - 1));
    r->last = running->perplexity;
    return r->n == r->stop_at;
}

/* Measures the tokens with the counting rule of chunks; r may be NULL. */
static ggufx_status perplexity(ggufx_eval_facts *out, ggufx_session *session, const int32_t *tokens,
                               size_t n, uint32_t n_context, int32_t bos, reports *r,
                               ggufx_error *error) {
    ggufx_eval_options options = {.struct_size = sizeof options, .report_user = r};
    if (r) options.report = on_report;
    return ggufx_eval_perplexity(out, session, tokens, n, n_context, bos, &options, error);
}

static void check(int32_t bos, uint32_t n_batch) {
    int32_t tokens[N];
    ggufx_eval_facts facts;
    reports r = {0, 0, 0};
    double mean, square, error;
    const double n = 3 * (CHUNK / 2 - 1);
    fixture f;
    make_tokens(tokens);
    expect(tokens, bos, 3, &mean, &square);
    error = sqrt((square - mean * mean) / (n - 1)) * exp(mean);
    begin_session(&f, NULL, n_batch);
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
    MUST(&f, perplexity(&facts, f.session, tokens, N, CHUNK, bos, &r, &f.error));
    assert_true(fabs(facts.perplexity / exp(mean) - 1.0) < 1e-5);
    assert_true(fabs(facts.standard_error / error - 1.0) < 1e-4);
    assert_int_equal(facts.n_chunks, 3);
    assert_int_equal(facts.n_tokens, 3 * CHUNK);
    assert_int_equal(facts.n_scored, (uint64_t)n);
    assert_int_equal(r.n, 3);
    assert_true(r.last == facts.perplexity);
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    end(&f);
}

static void test_perplexity_scores_the_second_half_of_each_chunk(void **state) {
    (void)state;
    check(TINY_BOS, 0);
    check(-1, 0);
    check(TINY_BOS, 1);
    check(TINY_BOS, 5);
}

static void test_perplexity_stops_when_asked_and_leaves_the_session_empty(void **state) {
    int32_t tokens[N];
    ggufx_eval_facts facts;
    fixture f;
    (void)state;
    make_tokens(tokens);
    begin_session(&f, NULL, 0);
    facts.struct_size = sizeof facts;
    for (int stop = 1; stop <= 3; stop++) {
        reports r = {0, 0, 0};
        r.stop_at = stop;
        FAILS(&f, GGUFX_E_CANCELLED, "",
              perplexity(&facts, f.session, tokens, N, CHUNK, 1, &r, &f.error));
        assert_int_equal(r.n, stop);
        assert_int_equal(ggufx_session_length(f.session, 0), 0);
    }
    end(&f);
}

static void test_perplexity_refuses_bad_arguments(void **state) {
    int32_t tokens[N];
    ggufx_eval_facts facts;
    fixture f;
    (void)state;
    make_tokens(tokens);
    begin_session(&f, NULL, 0);
    memset(&facts, 0, sizeof facts);
    facts.struct_size = sizeof facts;
#define RUN(out, session, ids, n, context, bos)                                                    \
    perplexity(out, session, ids, n, context, bos, NULL, &f.error)
    FAILS(&f, GGUFX_E_ARGUMENT, "out", RUN(NULL, f.session, tokens, N, CHUNK, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "session", RUN(&facts, NULL, tokens, N, CHUNK, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "tokens", RUN(&facts, f.session, NULL, N, CHUNK, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "fewer", RUN(&facts, f.session, tokens, CHUNK - 1, CHUNK, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_context", RUN(&facts, f.session, tokens, N, 3, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_context",
          RUN(&facts, f.session, tokens, N, TINY_CONTEXT + 1, 1));
    FAILS(&f, GGUFX_E_ARGUMENT, "bos", RUN(&facts, f.session, tokens, N, CHUNK, -2));
    FAILS(&f, GGUFX_E_ARGUMENT, "bos", RUN(&facts, f.session, tokens, N, CHUNK, TINY_VOCAB));
    tokens[60] = TINY_VOCAB;
    assert_int_equal(RUN(&facts, f.session, tokens, N, CHUNK, 1), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 60);
    tokens[60] = 3;
    MUST(&f, decode_ids(f.session, tokens, 2, NULL, 0, &f.error));
    FAILS(&f, GGUFX_E_STATE, "2 tokens", RUN(&facts, f.session, tokens, N, CHUNK, 1));
    end(&f);
}

static void test_perplexity_reports_a_nan(void **state) {
    int32_t tokens[N];
    tiny_options options;
    ggufx_eval_facts facts;
    fixture f;
    (void)state;
    make_tokens(tokens);
    memset(&options, 0, sizeof options);
    options.nan_tensor = "output_norm.weight";
    begin_session(&f, &options, 0);
    facts.struct_size = sizeof facts;
    FAILS(&f, GGUFX_E_VALUE, "", RUN(&facts, f.session, tokens, N, CHUNK, 1));
    assert_int_equal(ggufx_session_length(f.session, 0), 0);
    end(&f);
}

static ggufx_status use_perplexity(void *context, ggufx_runtime *rt, ggufx_error *error) {
    int32_t tokens[N];
    ggufx_eval_facts facts;
    ggufx_file *file = NULL;
    ggufx_model *model = NULL;
    ggufx_session *session = NULL;
    ggufx_status status = open_tiny(&file, rt, NULL, error);
    (void)context;
    make_tokens(tokens);
    facts.struct_size = sizeof facts;
    if (status == GGUFX_OK) status = ggufx_model_create(&model, rt, file, NULL, error);
    if (status == GGUFX_OK) status = ggufx_session_create(&session, model, NULL, error);
    if (status == GGUFX_OK) status = perplexity(&facts, session, tokens, N, CHUNK, 1, NULL, error);
    ggufx_session_destroy(session);
    ggufx_model_destroy(model);
    ggufx_file_destroy(file);
    return status;
}

static void test_perplexity_survives_each_failing_allocation(void **state) {
    (void)state;
    assert_true(fault_run(use_perplexity, NULL) > 12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_perplexity_scores_the_second_half_of_each_chunk),
        cmocka_unit_test(test_perplexity_stops_when_asked_and_leaves_the_session_empty),
        cmocka_unit_test(test_perplexity_refuses_bad_arguments),
        cmocka_unit_test(test_perplexity_reports_a_nan),
        cmocka_unit_test(test_perplexity_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
