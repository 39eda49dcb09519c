/*
 * Stop strings and log-probabilities.
 * SPDX-License-Identifier: MIT
 */
#include "chain_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = 1500 };

static ggufx_stop *new_stop(fixture *f, const char *const *texts, size_t n) {
    ggufx_stop_text given[16];
    ggufx_stop *stop = NULL;
    for (size_t i = 0; i < n; i++) given[i] = (ggufx_stop_text){texts[i], strlen(texts[i])};
    MUST(f, ggufx_stop_create(&stop, f->rt, given, n, &f->error));
    return stop;
}

/* Stop strings found in n bytes by testing every position. */
typedef struct naive {
    int32_t found;
    size_t n_shown, n_taken;
} naive;

static naive naive_of(const char *text, size_t n, const char *const *texts, size_t n_texts) {
    naive out = {-1, 0, n};
    for (size_t end = 1; end <= n; end++) {
        size_t longest = 0;
        for (size_t i = 0; i < n_texts; i++) {
            const size_t length = strlen(texts[i]);
            if (length > longest && length <= end &&
                memcmp(text + end - length, texts[i], length) == 0) {
                longest = length;
                out = (naive){(int32_t)i, end - length, end};
            }
        }
        if (longest) return out;
    }
    size_t held = 0;
    for (size_t i = 0; i < n_texts; i++)
        for (size_t length = 1; length < strlen(texts[i]) && length <= n; length++)
            if (memcmp(text + n - length, texts[i], length) == 0 && length > held) held = length;
    out.n_shown = n - held;
    return out;
}

static void test_stops_are_found_over_the_borders_of_pieces(void **state) {
    static const char *const sets[5][6] = {
        {"abab", "bb", "aaaa"},
        {"a", "ab", "abc"},
        {"abcabd", "cab", "bca"},
        {"aab", "aab", "ab"},
        {"babaabab", "abaaba", "aabaac", "ccc", "cbcb"},
    };
    fixture f;
    size_t n_found = 0, n_held = 0;
    (void)state;
    begin(&f, NULL);
    for (size_t set = 0; set < 5; set++) {
        size_t n_texts = 0;
        while (n_texts < 6 && sets[set][n_texts]) n_texts++;
        ggufx_stop *const stop = new_stop(&f, sets[set], n_texts);
        for (uint64_t round = 0; round < 400; round++) {
            char text[48];
            size_t n = 0, n_pieces = 0;
            ggufx_stop_facts facts = {.struct_size = sizeof facts, .found = -1};
            MUST(&f, ggufx_stop_reset(stop, &f.error));
            for (size_t i = 0; i < sizeof text; i++)
                text[i] = "abc"[mixed(round * 64 + i) % (round % 2 ? 2 : 3)];
            while (n < sizeof text && facts.found < 0) {
                size_t piece = (size_t)(mixed(64 * round + n_pieces++) % 5);
                if (piece > sizeof text - n) piece = sizeof text - n;
                MUST(&f, ggufx_stop_feed(&facts, stop, text + n, piece, &f.error));
                n += piece;
                const naive want = naive_of(text, n, sets[set], n_texts);
                assert_int_equal(facts.found, want.found);
                assert_int_equal(facts.n_shown, want.n_shown);
                assert_int_equal(facts.n_taken, want.n_taken);
                n_held += want.found < 0 && want.n_shown < n;
            }
            if (facts.found < 0) continue;
            n_found++;
            FAILS(&f, GGUFX_E_STATE, "was found", ggufx_stop_feed(&facts, stop, text, 1, &f.error));
        }
        ggufx_stop_destroy(stop);
    }
    assert_true(n_found > 500 && n_held > 500);
    end(&f);
}

static void test_stop_calls_refuse_bad_arguments(void **state) {
    static char big[1048577];
    const ggufx_stop_text empty[2] = {{"a", 1}, {"", 0}}, large = {big, sizeof big};
    fixture f;
    ggufx_stop *stop = NULL;
    ggufx_stop_facts facts = {0};
    (void)state;
    begin(&f, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_stop_create(NULL, f.rt, empty, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "rt", ggufx_stop_create(&stop, NULL, empty, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "texts", ggufx_stop_create(&stop, f.rt, NULL, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "stop string 1 is empty",
          ggufx_stop_create(&stop, f.rt, empty, 2, &f.error));
    assert_int_equal(ggufx_stop_create(&stop, f.rt, empty, 2, &f.error), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 1);
    FAILS(&f, GGUFX_E_LIMIT, "1048576", ggufx_stop_create(&stop, f.rt, &large, 1, &f.error));
    MUST(&f, ggufx_stop_create(&stop, f.rt, NULL, 0, &f.error)); /* never finds anything */
    FAILS(&f, GGUFX_E_ARGUMENT, "struct_size", ggufx_stop_feed(&facts, stop, "a", 1, &f.error));
    facts.struct_size = sizeof facts;
    FAILS(&f, GGUFX_E_ARGUMENT, "text", ggufx_stop_feed(&facts, stop, NULL, 1, &f.error));
    MUST(&f, ggufx_stop_feed(&facts, stop, "abc", 3, &f.error));
    assert_int_equal(facts.n_shown, 3);
    FAILS(&f, GGUFX_E_ARGUMENT, "stop", ggufx_stop_reset(NULL, &f.error));
    ggufx_stop_destroy(stop);
    ggufx_stop_destroy(NULL);
    end(&f);
}

static ggufx_status create_stop(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const ggufx_stop_text texts[2] = {{"abc", 3}, {"abd", 3}};
    ggufx_stop *stop = NULL;
    const ggufx_status status = ggufx_stop_create(&stop, rt, texts, 2, error);
    (void)context;
    ggufx_stop_destroy(stop);
    return status;
}

static void test_stops_survive_each_failing_allocation(void **state) {
    (void)state;
    assert_true(fault_run(create_stop, NULL) > 4);
}

/* ---- log-probabilities -------------- */

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
    static float logits[V], got[V];
    static int32_t ids[V];
    static ranked all[V];
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (uint64_t seed = 0; seed < 8; seed++) {
        double total = 0;
        float chosen = 0;
        const size_t k = (size_t[]){0, 1, 2, 20, 21, 700, V - 1, V}[seed];
        fill_logits(logits, V, seed);
        for (size_t i = 0; i < V; i += 3) logits[i] = (float)(int)logits[i]; /* equal ones */
        logits[9] = -INFINITY;
        for (int32_t i = 0; i < V; i++) all[i] = (ranked){i, logits[i]};
        qsort(all, V, sizeof *all, by_rank);
        for (size_t i = 0; i < V; i++) total += exp((double)all[i].logit - (double)all[0].logit);
        MUST(&f, ggufx_logprobs(ids, got, k, &chosen, f.rt, logits, V, 77, &f.error));
        for (size_t i = 0; i < k; i++) {
            const double want = (double)all[i].logit - (double)all[0].logit - log(total);
            assert_int_equal(ids[i], all[i].id);
            assert_true(got[i] == (float)want || fabs((double)got[i] - want) < 2e-6);
        }
        assert_true(
            fabs((double)chosen - ((double)logits[77] - (double)all[0].logit - log(total))) < 2e-6);
        MUST(&f, ggufx_logprobs(NULL, NULL, 0, &chosen, f.rt, logits, V, 9, &f.error));
        assert_true(chosen == -INFINITY);
    }
    end(&f);
}

static void test_logprobs_refuse_bad_arguments_and_logits(void **state) {
    float logits[4] = {0, 1, 2, 3}, got[4];
    int32_t ids[4];
    fixture f;
    (void)state;
    begin(&f, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "rt",
          ggufx_logprobs(ids, got, 2, NULL, NULL, logits, 4, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "logits",
          ggufx_logprobs(ids, got, 2, NULL, f.rt, NULL, 4, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "outputs",
          ggufx_logprobs(ids, NULL, 2, NULL, f.rt, logits, 4, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "k (5)",
          ggufx_logprobs(ids, got, 5, NULL, f.rt, logits, 4, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "chosen is 4",
          ggufx_logprobs(ids, got, 1, got, f.rt, logits, 4, 4, &f.error));
    MUST(&f, ggufx_logprobs(ids, got, 1, NULL, f.rt, logits, 4, 4, &f.error));
    logits[2] = NAN;
    FAILS(&f, GGUFX_E_VALUE, "logit 2",
          ggufx_logprobs(ids, got, 1, NULL, f.rt, logits, 4, 0, &f.error));
    for (int i = 0; i < 4; i++) logits[i] = -INFINITY;
    FAILS(&f, GGUFX_E_VALUE, "finite",
          ggufx_logprobs(ids, got, 1, NULL, f.rt, logits, 4, 0, &f.error));
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stops_are_found_over_the_borders_of_pieces),
        cmocka_unit_test(test_stop_calls_refuse_bad_arguments),
        cmocka_unit_test(test_stops_survive_each_failing_allocation),
        cmocka_unit_test(test_logprobs_are_those_of_the_likeliest),
        cmocka_unit_test(test_logprobs_refuse_bad_arguments_and_logits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
