/*
 * Log-probabilities.
 * SPDX-License-Identifier: MIT
 */
#include "chain_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = 1500 };

typedef struct ranked {
    int32_t id;
    float logit;
} ranked;

static int by_rank(const void *a, const void *b) {
    const ranked *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->id - y->id;
}

static void test_logprobs_are_those_of_the_likeliest(void **state) {
    static float logits[V], got[V], given[V];
    static int32_t ids[V], same[V];
    static ranked all[V];
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (uint64_t seed = 0; seed < 8; seed++) {
        double total = 0;
        const size_t k = (size_t[]){0, 1, 2, 20, 21, 700, V - 1, V}[seed];
        fill_logits(logits, V, seed);
        for (size_t i = 0; i < V; i += 3) logits[i] = (float)(int)logits[i]; /* equal ones */
        logits[9] = -INFINITY;
        for (int32_t i = 0; i < V; i++) all[i] = (ranked){i, logits[i]};
        qsort(all, V, sizeof *all, by_rank);
        for (size_t i = 0; i < V; i++) total += exp((double)all[i].logit - (double)all[0].logit);
        MUST(&f, ggufx_logprobs(ids, got, k, f.rt, logits, V, NULL, &f.error));
        MUST(&f, ggufx_logprobs(same, given, k, f.rt, logits, V, ids, &f.error));
        assert_memory_equal(same, ids, k * sizeof *ids);
        assert_memory_equal(given, got, k * sizeof *got);
        for (size_t i = 0; i < k; i++) {
            const double want = (double)all[i].logit - (double)all[0].logit - log(total);
            assert_int_equal(ids[i], all[i].id);
            assert_true(got[i] == (float)want || fabs((double)got[i] - want) < 2e-6);
        }
    }
    end(&f);
}

/* A token may be given twice, and ids need not be written. */
static void test_logprobs_are_those_of_given_tokens(void **state) {
    static const int32_t tokens[5] = {2, 0, 2, 1, 2};
    const float logits[3] = {0.5F, -INFINITY, 3};
    float got[5];
    fixture f;
    (void)state;
    begin(&f, NULL);
    MUST(&f, ggufx_logprobs(NULL, got, 5, f.rt, logits, 3, tokens, &f.error));
    for (int i = 0; i < 5; i += 2) assert_true(fabs((double)got[i] + log1p(exp(-2.5))) < 2e-7);
    assert_true(fabs((double)got[1] + 2.5 + log1p(exp(-2.5))) < 2e-7);
    assert_true(got[3] == -INFINITY);
    MUST(&f, ggufx_logprobs(NULL, NULL, 0, f.rt, logits, 3, tokens, &f.error));
    end(&f);
}

static void test_logprobs_refuse_bad_arguments_and_logits(void **state) {
    static const int32_t tokens[3] = {3, 4, -1};
    float logits[4] = {0, 1, 2, 3}, got[4];
    int32_t ids[4];
    fixture f;
    (void)state;
    begin(&f, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "rt", ggufx_logprobs(ids, got, 2, NULL, logits, 4, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "logits",
          ggufx_logprobs(ids, got, 2, f.rt, NULL, 4, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "outputs",
          ggufx_logprobs(ids, NULL, 2, f.rt, logits, 4, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "k (5)",
          ggufx_logprobs(ids, got, 5, f.rt, logits, 4, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "outputs",
          ggufx_logprobs(NULL, got, 2, f.rt, logits, 4, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "outputs",
          ggufx_logprobs(ids, NULL, 2, f.rt, logits, 4, tokens, &f.error));
    assert_int_equal(ggufx_logprobs(ids, got, 3, f.rt, logits, 4, tokens, &f.error),
                     GGUFX_E_ARGUMENT);
    assert_non_null(strstr(f.error.message, "token is 4"));
    assert_int_equal(f.error.index, 1);
    FAILS(&f, GGUFX_E_ARGUMENT, "token is -1",
          ggufx_logprobs(ids, got, 1, f.rt, logits, 4, tokens + 2, &f.error));
    logits[2] = NAN;
    FAILS(&f, GGUFX_E_VALUE, "logit 2",
          ggufx_logprobs(ids, got, 1, f.rt, logits, 4, NULL, &f.error));
    for (int i = 0; i < 4; i++) logits[i] = -INFINITY;
    FAILS(&f, GGUFX_E_VALUE, "finite",
          ggufx_logprobs(ids, got, 1, f.rt, logits, 4, NULL, &f.error));
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_logprobs_are_those_of_the_likeliest),
        cmocka_unit_test(test_logprobs_are_those_of_given_tokens),
        cmocka_unit_test(test_logprobs_refuse_bad_arguments_and_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
