/*
 * Calls of sampler chains: refusals, with name and value; failing allocations; sampling allocates
 * nothing.
 * SPDX-License-Identifier: MIT
 */
#include "chain_fixture.h"

#include <math.h>
#include <string.h>

enum { V = 300 };

static void test_links_refuse_numbers_out_of_range_by_name_and_value(void **state) {
    static const struct {
        uint32_t kind;
        size_t offset; /* offset of the member */
        float bad[3];
        const char *name;
    } cases[] = {
#define MEMBER(kind, name, a, b, c)                                                                \
    {GGUFX_LINK_##kind, offsetof(ggufx_sampler_link, name), {a, b, c}, #name " is "}
        MEMBER(TOP_P, p, -0.5f, 1.5f, NAN),
        MEMBER(MIN_P, p, -0.5f, 1.0001f, INFINITY),
        MEMBER(TYPICAL, p, -1e-30f, 2.0f, NAN),
        MEMBER(TOP_N_SIGMA, n_sigma, -1.0f, INFINITY, NAN),
        MEMBER(XTC, probability, -0.1f, 1.1f, NAN),
        MEMBER(XTC, threshold, -0.1f, 1.1f, NAN),
        MEMBER(TEMPERATURE, temperature, -1.0f, INFINITY, NAN),
        MEMBER(TEMPERATURE, range, -1.0f, INFINITY, NAN),
        MEMBER(TEMPERATURE, exponent, -1.0f, INFINITY, NAN),
        MEMBER(PENALTIES, repetition, -1.0f, 2e6f, NAN),
        MEMBER(PENALTIES, frequency, -2e6f, 2e6f, NAN),
        MEMBER(PENALTIES, presence, -INFINITY, INFINITY, NAN),
        MEMBER(DRY, multiplier, -1.0f, INFINITY, NAN),
        MEMBER(DRY, base, -1.0f, 0.99f, NAN),
        MEMBER(MIROSTAT, tau, -1.0f, INFINITY, NAN),
        MEMBER(MIROSTAT, eta, -1.0f, INFINITY, NAN),
    };
    fixture f;
    ggufx_sampler *chain;
    (void)state;
    begin(&f, NULL);
    chain = new_chain(&f, V, 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int j = 0; j < 3; j++) {
            ggufx_sampler_link link = link_of(cases[i].kind);
            if (cases[i].kind == GGUFX_LINK_MIROSTAT) link.version = 2;
            memcpy((char *)&link + cases[i].offset, &cases[i].bad[j], sizeof(float));
            FAILS(&f, GGUFX_E_ARGUMENT, cases[i].name, ggufx_sampler_add(chain, &link, &f.error));
        }
    }
    ggufx_sampler_destroy(chain);
    end(&f);
}

static void test_links_refuse_what_they_have_no_use_for(void **state) {
    fixture f;
    ggufx_sampler *chain, *simple = NULL;
    ggufx_sampler_link link;
    (void)state;
    begin(&f, NULL);
    chain = new_chain(&f, V, 0);
    link = link_of(GGUFX_LINK_TOP_K);
    link.k = 3;
    link.p = 0.5f;
    FAILS(&f, GGUFX_E_ARGUMENT, "p is set, but TOP_K does not use it",
          ggufx_sampler_add(chain, &link, &f.error));
    link = link_of(GGUFX_LINK_TOP_P);
    link.n_last = 3;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_last is set", ggufx_sampler_add(chain, &link, &f.error));
    link = link_of(0);
    FAILS(&f, GGUFX_E_ARGUMENT, "kind is 0", ggufx_sampler_add(chain, &link, &f.error));
    link = link_of(13);
    FAILS(&f, GGUFX_E_ARGUMENT, "kind is 13", ggufx_sampler_add(chain, &link, &f.error));
    link = link_of(GGUFX_LINK_HOST);
    FAILS(&f, GGUFX_E_ARGUMENT, "link must be set", ggufx_sampler_add(chain, &link, &f.error));
    link = link_of(GGUFX_LINK_DRY);
    link.n_last = GGUFX_LINK_MOST_LAST + 1;
    FAILS(&f, GGUFX_E_LIMIT, "n_last is 1048577", ggufx_sampler_add(chain, &link, &f.error));
    link = link_of(GGUFX_LINK_MIROSTAT);
    FAILS(&f, GGUFX_E_ARGUMENT, "version is 0", ggufx_sampler_add(chain, &link, &f.error));
    link.version = 1;
    link.m = 1;
    FAILS(&f, GGUFX_E_ARGUMENT, "m is 1", ggufx_sampler_add(chain, &link, &f.error));
    link = link_of(GGUFX_LINK_TOP_K);
    link.flags = 2;
    FAILS(&f, GGUFX_E_ARGUMENT, "ggufx_sampler_link", ggufx_sampler_add(chain, &link, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "link must be set", ggufx_sampler_add(chain, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sampler", ggufx_sampler_add(NULL, &link, &f.error));
    MUST(&f, ggufx_sampler_create(&simple, f.rt, V, NULL, &f.error));
    link = example(0);
    FAILS(&f, GGUFX_E_STATE, "not a chain", ggufx_sampler_add(simple, &link, &f.error));
    link = example(13);
    add(&f, chain, &link);
    FAILS(&f, GGUFX_E_STATE, "MIROSTAT", ggufx_sampler_add(chain, &link, &f.error));
    ggufx_sampler_destroy(simple);
    ggufx_sampler_destroy(chain);
    end(&f);
}

static void test_ids_outside_of_the_vocabulary_are_refused(void **state) {
    static const int32_t ids[4] = {0, V - 1, V, -1};
    const ggufx_logit_bias twice[3] = {{4, 1}, {9, 1}, {4, 2}}, wrong[2] = {{4, 1}, {V, 1}},
                           endless[2] = {{4, 1}, {5, INFINITY}};
    fixture f;
    ggufx_sampler *chain;
    ggufx_sampler_link link = link_of(GGUFX_LINK_DRY);
    (void)state;
    begin(&f, NULL);
    chain = new_chain(&f, V, 0);
    link.multiplier = 1;
    link.n_last = 10;
    link.breakers = ids;
    link.n_breakers = 3;
    FAILS(&f, GGUFX_E_ARGUMENT, "breakers: id 300", ggufx_sampler_add(chain, &link, &f.error));
    assert_int_equal(ggufx_sampler_add(chain, &link, &f.error), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 2);
    link.n_breakers = 2;
    add(&f, chain, &link);
    link = link_of(GGUFX_LINK_BIAS);
    link.biases = wrong;
    link.n_biases = 2;
    FAILS(&f, GGUFX_E_ARGUMENT, "biases: id 300", ggufx_sampler_add(chain, &link, &f.error));
    assert_int_equal(ggufx_sampler_add(chain, &link, &f.error), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 1);
    link.biases = endless;
    FAILS(&f, GGUFX_E_ARGUMENT, "id 5 is NaN", ggufx_sampler_add(chain, &link, &f.error));
    link.biases = twice;
    link.n_biases = 3;
    FAILS(&f, GGUFX_E_DUPLICATE, "id 4", ggufx_sampler_add(chain, &link, &f.error));
    link.biases = NULL;
    FAILS(&f, GGUFX_E_ARGUMENT, "biases", ggufx_sampler_add(chain, &link, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "id 300", ggufx_sampler_accept(chain, ids, 3, &f.error));
    assert_int_equal(ggufx_sampler_accept(chain, ids, 3, &f.error), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 2);
    FAILS(&f, GGUFX_E_ARGUMENT, "id -1", ggufx_sampler_accept(chain, ids + 3, 1, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "ids", ggufx_sampler_accept(chain, NULL, 1, &f.error));
    MUST(&f, ggufx_sampler_accept(chain, NULL, 0, &f.error));
    MUST(&f, ggufx_sampler_accept(chain, ids, 2, &f.error));
    ggufx_sampler_destroy(chain);
    end(&f);
}

static void test_chains_refuse_bad_calls_and_logits(void **state) {
    static float logits[V];
    static ggufx_logit_bias ban[V];
    fixture f;
    ggufx_sampler *chain = NULL;
    ggufx_sampler_link link;
    int32_t id = 7;
    (void)state;
    begin(&f, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_sampler_create_chain(NULL, f.rt, V, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "rt", ggufx_sampler_create_chain(&chain, NULL, V, 0, &f.error));
    chain = (ggufx_sampler *)&f;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_vocab",
          ggufx_sampler_create_chain(&chain, f.rt, 0, 0, &f.error));
    assert_null(chain);
    FAILS(&f, GGUFX_E_ARGUMENT, "sampler", ggufx_sampler_reset(NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sampler", ggufx_sampler_clone(&chain, NULL, &f.error));
    chain = new_chain(&f, V, 0);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_sampler_clone(NULL, chain, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n is 301",
          ggufx_sampler_sample(&id, NULL, chain, logits, V + 1, &f.error));
    logits[200] = NAN;
    FAILS(&f, GGUFX_E_VALUE, "logit 200",
          ggufx_sampler_sample(&id, NULL, chain, logits, V, &f.error));
    (void)ggufx_sampler_sample(&id, NULL, chain, logits, V, &f.error);
    assert_int_equal(f.error.index, 200);
    logits[200] = INFINITY;
    FAILS(&f, GGUFX_E_VALUE, "logit 200",
          ggufx_sampler_sample(&id, NULL, chain, logits, V, &f.error));
    for (int i = 0; i < V; i++) logits[i] = -INFINITY;
    FAILS(&f, GGUFX_E_VALUE, "finite", ggufx_sampler_sample(&id, NULL, chain, logits, V, &f.error));
    logits[33] = -3e38f; /* the only finite logit */
    MUST(&f, ggufx_sampler_sample(&id, NULL, chain, logits, V, &f.error));
    assert_int_equal(id, 33);
    for (int32_t i = 0; i < V; i++) ban[i] = (ggufx_logit_bias){i, -INFINITY};
    link = link_of(GGUFX_LINK_BIAS);
    link.biases = ban;
    link.n_biases = V;
    add(&f, chain, &link);
    FAILS(&f, GGUFX_E_VALUE, "leave no token",
          ggufx_sampler_sample(&id, NULL, chain, logits, V, &f.error));
    ggufx_sampler_destroy(chain);
    end(&f);
}

/* The largest floats, in every sampler: one id is sampled. */
static void test_logits_at_the_ends_of_floats_are_sampled(void **state) {
    static float logits[V];
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (int i = 0; i < V; i++) logits[i] = i % 3 ? (i % 2 ? 3.4e38f : -3.4e38f) : -INFINITY;
    for (uint32_t which = 0; which < CHAIN_KINDS; which++) {
        ggufx_sampler *const chain = new_chain(&f, V, which);
        const ggufx_sampler_link link = example(which);
        add(&f, chain, &link);
        for (int i = 0; i < 50; i++) {
            const int32_t id = sample(&f, chain, logits, V);
            assert_true(id % 3 && id % 2);
            MUST(&f, ggufx_sampler_accept(chain, &id, 1, &f.error));
        }
        ggufx_sampler_destroy(chain);
    }
    end(&f);
}

static ggufx_status everything(void *context, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_sampler *chain = NULL, *clone = NULL;
    ggufx_status status = ggufx_sampler_create_chain(&chain, rt, V, 1, error);
    (void)context;
    for (uint32_t which = 0; which < 11 && status == GGUFX_OK; which++) {
        const ggufx_sampler_link link = example(which);
        status = ggufx_sampler_add(chain, &link, error);
    }
    if (status == GGUFX_OK) status = ggufx_sampler_clone(&clone, chain, error);
    ggufx_sampler_destroy(chain);
    ggufx_sampler_destroy(clone);
    return status;
}

static void test_chains_survive_each_failing_allocation(void **state) {
    (void)state;
    assert_true(fault_run(everything, NULL) > 20);
}

static void test_sampling_and_accepting_allocate_nothing(void **state) {
    static float logits[V];
    fixture f;
    ggufx_sampler *chains[2] = {NULL, NULL}; /* and its copy */
    (void)state;
    begin(&f, NULL);
    chains[0] = new_chain(&f, V, 2);
    for (uint32_t which = 4; which < 11; which++) {
        const ggufx_sampler_link link = example(which);
        add(&f, chains[0], &link);
    }
    MUST(&f, ggufx_sampler_clone(&chains[1], chains[0], &f.error));
    fault_reset(&f.memory);
    for (uint64_t i = 0; i < 800; i++) {
        float logprob = 0;
        int32_t id = -1;
        fill_logits(logits, V, i / 16);
        MUST(&f, ggufx_sampler_sample(&id, &logprob, chains[i % 2], logits, V, &f.error));
        MUST(&f, ggufx_sampler_accept(chains[i % 2], &id, 1, &f.error));
    }
    for (size_t i = 0; i < 2; i++) MUST(&f, ggufx_sampler_reset(chains[i], &f.error));
    assert_int_equal(f.memory.calls, 0);
    for (size_t i = 0; i < 2; i++) ggufx_sampler_destroy(chains[i]);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_refuse_numbers_out_of_range_by_name_and_value),
        cmocka_unit_test(test_links_refuse_what_they_have_no_use_for),
        cmocka_unit_test(test_ids_outside_of_the_vocabulary_are_refused),
        cmocka_unit_test(test_chains_refuse_bad_calls_and_logits),
        cmocka_unit_test(test_logits_at_the_ends_of_floats_are_sampled),
        cmocka_unit_test(test_chains_survive_each_failing_allocation),
        cmocka_unit_test(test_sampling_and_accepting_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
