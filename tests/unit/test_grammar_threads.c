/*
 * Grammars on several threads: one shared by the matchers of all threads, and many created from a
 * tokenizer at once, where the first ones build the shared tables.
 * SPDX-License-Identifier: MIT
 */
#include "grammar_fixture.h"

#include <pthread.h>
#include <string.h>

enum { N_THREADS = 8, N_ROUNDS = 20 };

static const char text[] =
    "{\"name\": \"ab \xc3\xa9\", \"tags\":[\"a\",\"b\"], \"next\":{\"name\":\"\"},"
    "\"more\":\"abc\"}";
static const char schema[] = "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\","
                             "\"maxLength\":20},\"tags\":{"
                             "\"type\":\"array\",\"items\":{\"enum\":[\"a\",\"b\"]}},\"next\":{\"$"
                             "ref\":\"#\"}},\"required\":["
                             "\"name\"],\"additionalProperties\":{\"type\":\"string\"}}";
enum { N = sizeof text - 1 };

typedef struct job {
    pthread_t thread;
    const vocab *v;
    ggufx_grammar *grammar; /* shared; NULL: each round creates one */
    pthread_barrier_t *begin;
    uint32_t masks[N][N_WORDS];
    ggufx_status status;
    int differs;
} job;

static ggufx_status follow(job *j, const ggufx_grammar *grammar, int first) {
    ggufx_matcher *m = NULL;
    uint32_t bits[N_WORDS];
    ggufx_status status = ggufx_matcher_create(&m, grammar, NULL);
    for (size_t i = 0; status == GGUFX_OK && i < N; i++) {
        const int32_t id = FIRST_BYTE + (uint8_t)text[i];
        status = ggufx_matcher_mask(bits, N_WORDS, m, NULL);
        if (first) memcpy(j->masks[i], bits, sizeof bits);
        if (memcmp(j->masks[i], bits, sizeof bits) != 0) j->differs++;
        if (status == GGUFX_OK) status = ggufx_matcher_accept(m, &id, 1, NULL);
    }
    ggufx_matcher_destroy(m);
    return status;
}

static void *work(void *p) {
    job *j = p;
    pthread_barrier_wait(j->begin);
    for (int round = 0; j->status == GGUFX_OK && round < N_ROUNDS; round++) {
        ggufx_grammar *own = NULL;
        if (!j->grammar)
            j->status = create_grammar(&own, rt, j->v, GGUFX_GRAMMAR_JSON_SCHEMA, schema,
                                       sizeof schema - 1, NULL);
        if (j->status == GGUFX_OK) j->status = follow(j, j->grammar ? j->grammar : own, round == 0);
        ggufx_grammar_destroy(own);
    }
    return NULL;
}

/* Runs all threads at once; every mask of every thread equals that of the first. */
static void run_jobs(const vocab *v, ggufx_grammar *grammar) {
    static job jobs[N_THREADS];
    pthread_barrier_t begin;
    memset(jobs, 0, sizeof jobs);
    assert_int_equal(pthread_barrier_init(&begin, NULL, N_THREADS), 0);
    for (int i = 0; i < N_THREADS; i++) {
        jobs[i].v = v;
        jobs[i].grammar = grammar;
        jobs[i].begin = &begin;
        assert_int_equal(pthread_create(&jobs[i].thread, NULL, work, jobs + i), 0);
    }
    for (int i = 0; i < N_THREADS; i++) assert_int_equal(pthread_join(jobs[i].thread, NULL), 0);
    for (int i = 0; i < N_THREADS; i++) {
        assert_int_equal(jobs[i].status, GGUFX_OK);
        assert_int_equal(jobs[i].differs, 0);
        assert_memory_equal(jobs[i].masks, jobs[0].masks, sizeof jobs[0].masks);
    }
    assert_true(has_bit(jobs[0].masks[0], FIRST_BYTE + '{'));
    pthread_barrier_destroy(&begin);
}

static void test_matchers_of_several_threads_share_a_grammar(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) { /* each with masks that are not cached yet */
        vocab v = grammar_vocab();
        ggufx_grammar *grammar = NULL;
        OK(create_grammar(&grammar, rt, &v, GGUFX_GRAMMAR_JSON_SCHEMA, schema, sizeof schema - 1,
                          NULL));
        run_jobs(&v, grammar);
        ggufx_grammar_destroy(grammar);
        close_vocab(&v);
    }
}

static void test_grammars_of_a_tokenizer_are_made_on_several_threads(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        vocab v = grammar_vocab(); /* its grammars build the shared tables */
        run_jobs(&v, NULL);
        close_vocab(&v);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matchers_of_several_threads_share_a_grammar),
        cmocka_unit_test(test_grammars_of_a_tokenizer_are_made_on_several_threads),
    };
    return cmocka_run_group_tests(tests, writer_setup, writer_teardown);
}
