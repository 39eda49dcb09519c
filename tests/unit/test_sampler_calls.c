/*
 * Calls of sampler chains: refusals, with name and value; failing allocations; sampling allocates
 * nothing.
 * SPDX-License-Identifier: MIT
 */
#include "chain_fixture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { V = 300 };

/* A number of a sampler; others stay 0. */
enum number {
#define FLOAT(id, member, least, most, instead_of_0, field, value, KEY, long_name, help)           \
    id##_##member,
#include "../../src/sampling/samplers.def"
    N_NUMBERS
};
static const struct {
    const char *name;
    float least, most;
} numbers[] = {
#define FLOAT(id, member, least, most, instead_of_0, field, value, KEY, long_name, help)           \
    {#member, least, most},
#include "../../src/sampling/samplers.def"
};

static ggufx_status add_number(ggufx_sampler *chain, enum number which, float x,
                               ggufx_error *error) {
    ggufx_temperature_options dynamic = {.struct_size = sizeof dynamic};
    ggufx_penalty_options penalties = {.struct_size = sizeof penalties};
    ggufx_dry_options dry = {.struct_size = sizeof dry};
    ggufx_mirostat_options mirostat = {.struct_size = sizeof mirostat};
    switch (which) {
#define AT(id, member) (which == id##_##member ? x : 0)
#define FILTER1(id, ID, Type, name, order, type, a, example) FILTER1_##type(id, a)
#define FILTER1_uint32_t(id, a)
#define FILTER1_float(id, a)                                                                       \
    case id##_##a:                                                                                 \
        return ggufx_sampler_add_##id(chain, x, error);
#define FILTER2(id, ID, Type, name, order, type, a, b, example_a, example_b)                       \
    case id##_##a:                                                                                 \
    case id##_##b:                                                                                 \
        return ggufx_sampler_add_##id(chain, AT(id, a), AT(id, b), error);
#include "../../src/sampling/samplers.def"
    case temperature_temperature:
    case temperature_range:
    case temperature_exponent:
        dynamic.range = AT(temperature, range);
        dynamic.exponent = AT(temperature, exponent);
        return ggufx_sampler_add_temperature(chain, AT(temperature, temperature), &dynamic, error);
    case penalties_repeat:
    case penalties_frequency:
    case penalties_presence:
        penalties.repeat = AT(penalties, repeat);
        penalties.frequency = AT(penalties, frequency);
        penalties.presence = AT(penalties, presence);
        return ggufx_sampler_add_penalties(chain, &penalties, error);
    case dry_multiplier:
    case dry_base:
        dry.multiplier = AT(dry, multiplier);
        dry.base = AT(dry, base);
        return ggufx_sampler_add_dry(chain, &dry, error);
    default:
        mirostat.tau = AT(mirostat, tau);
        mirostat.eta = AT(mirostat, eta);
        return ggufx_sampler_add_mirostat(chain, &mirostat, error);
    }
}

static void test_numbers_out_of_range_are_refused_by_name_and_value(void **state) {
    fixture f;
    ggufx_sampler *chain;
    (void)state;
    begin(&f, NULL);
    chain = new_chain(&f, V, 0);
    for (int which = 0; which < N_NUMBERS; which++) {
        const float least = numbers[which].least, most = numbers[which].most;
        const float bad[] = {nextafterf(least, -INFINITY), nextafterf(most, INFINITY), -INFINITY,
                             INFINITY, NAN};
        char expected[64];
        snprintf(expected, sizeof expected, "%s is ", numbers[which].name);
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            FAILS(&f, GGUFX_E_ARGUMENT, expected,
                  add_number(chain, (enum number)which, bad[i], &f.error));
        MUST(&f, add_number(chain, (enum number)which, numbers[which].most, &f.error));
        ggufx_sampler_destroy(chain);
        chain = new_chain(&f, V, 0);
    }
    ggufx_sampler_destroy(chain);
    end(&f);
}

static void test_samplers_refuse_bad_options_and_places(void **state) {
    const ggufx_dry_options endless = {.struct_size = sizeof endless,
                                       .last_n = GGUFX_SAMPLER_MAX_LAST_N + 1};
    const ggufx_mirostat_options third = {.struct_size = sizeof third, .version = 3},
                                 flat = {.struct_size = sizeof flat, .version = 1, .m = 1},
                                 second = {.struct_size = sizeof second, .m = 50};
    fixture f;
    ggufx_sampler *chain;
    (void)state;
    begin(&f, NULL);
    chain = new_chain(&f, V, 0);
    FAILS(&f, GGUFX_E_ARGUMENT, "apply must be set",
          ggufx_sampler_add_host(chain, NULL, NULL, &f.error));
    FAILS(&f, GGUFX_E_LIMIT, "last_n is 1048577", ggufx_sampler_add_dry(chain, &endless, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "version is 3",
          ggufx_sampler_add_mirostat(chain, &third, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "m is 1", ggufx_sampler_add_mirostat(chain, &flat, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "m is 50", ggufx_sampler_add_mirostat(chain, &second, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sampler", ggufx_sampler_add_top_k(NULL, 3, &f.error));
    for (uint32_t i = 0; i < GGUFX_SAMPLER_MAX_SAMPLERS; i++) {
        MUST(&f, ggufx_sampler_add_top_k(chain, 0, &f.error)); /* off: not kept */
        MUST(&f, ggufx_sampler_add_top_k(chain, 3, &f.error));
    }
    FAILS(&f, GGUFX_E_LIMIT, "at most 64", ggufx_sampler_add_top_k(chain, 3, &f.error));
    ggufx_sampler_destroy(chain);
    chain = new_chain(&f, V, 0);
    MUST(&f, add_example(chain, MIROSTAT_2, &f.error));
    FAILS(&f, GGUFX_E_STATE, "mirostat", ggufx_sampler_add_top_k(chain, 3, &f.error));
    ggufx_sampler_destroy(chain);
    end(&f);
}

static void test_ids_outside_of_the_vocabulary_are_refused(void **state) {
    static const int32_t ids[4] = {0, V - 1, V, -1};
    const ggufx_logit_bias twice[3] = {{4, 1}, {9, 1}, {4, 2}}, wrong[2] = {{4, 1}, {V, 1}},
                           endless[2] = {{4, 1}, {5, INFINITY}};
    fixture f;
    ggufx_sampler *chain;
    ggufx_dry_options dry = {.struct_size = sizeof dry,
                             .multiplier = 1,
                             .last_n = 10,
                             .sequence_breakers = ids,
                             .n_sequence_breakers = 3};
    (void)state;
    begin(&f, NULL);
    chain = new_chain(&f, V, 0);
    FAILS(&f, GGUFX_E_ARGUMENT, "sequence_breakers: id 300",
          ggufx_sampler_add_dry(chain, &dry, &f.error));
    assert_int_equal(ggufx_sampler_add_dry(chain, &dry, &f.error), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 2);
    dry.n_sequence_breakers = 2;
    MUST(&f, ggufx_sampler_add_dry(chain, &dry, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "biases: id 300",
          ggufx_sampler_add_logit_bias(chain, wrong, 2, &f.error));
    assert_int_equal(ggufx_sampler_add_logit_bias(chain, wrong, 2, &f.error), GGUFX_E_ARGUMENT);
    assert_int_equal(f.error.index, 1);
    FAILS(&f, GGUFX_E_ARGUMENT, "id 5 is NaN",
          ggufx_sampler_add_logit_bias(chain, endless, 2, &f.error));
    FAILS(&f, GGUFX_E_DUPLICATE, "id 4", ggufx_sampler_add_logit_bias(chain, twice, 3, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "biases", ggufx_sampler_add_logit_bias(chain, NULL, 3, &f.error));
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
    int32_t id = 7;
    (void)state;
    begin(&f, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_sampler_create(NULL, f.rt, V, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "rt", ggufx_sampler_create(&chain, NULL, V, 0, &f.error));
    chain = (ggufx_sampler *)&f;
    FAILS(&f, GGUFX_E_ARGUMENT, "n_vocab", ggufx_sampler_create(&chain, f.rt, 0, 0, &f.error));
    assert_null(chain);
    FAILS(&f, GGUFX_E_ARGUMENT, "sampler", ggufx_sampler_reset(NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "sampler", ggufx_sampler_clone(&chain, NULL, &f.error));
    chain = new_chain(&f, V, 0);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_sampler_clone(NULL, chain, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n is 301",
          ggufx_sampler_sample(&id, NULL, chain, NULL, logits, V + 1, &f.error));
    logits[200] = NAN;
    FAILS(&f, GGUFX_E_VALUE, "logit 200",
          ggufx_sampler_sample(&id, NULL, chain, NULL, logits, V, &f.error));
    (void)ggufx_sampler_sample(&id, NULL, chain, NULL, logits, V, &f.error);
    assert_int_equal(f.error.index, 200);
    logits[200] = INFINITY;
    FAILS(&f, GGUFX_E_VALUE, "logit 200",
          ggufx_sampler_sample(&id, NULL, chain, NULL, logits, V, &f.error));
    for (int i = 0; i < V; i++) logits[i] = -INFINITY;
    FAILS(&f, GGUFX_E_VALUE, "finite",
          ggufx_sampler_sample(&id, NULL, chain, NULL, logits, V, &f.error));
    logits[33] = -3e38f; /* the only finite logit */
    MUST(&f, ggufx_sampler_sample(&id, NULL, chain, NULL, logits, V, &f.error));
    assert_int_equal(id, 33);
    for (int32_t i = 0; i < V; i++) ban[i] = (ggufx_logit_bias){i, -INFINITY};
    MUST(&f, ggufx_sampler_add_logit_bias(chain, ban, V, &f.error));
    FAILS(&f, GGUFX_E_VALUE, "leave no token",
          ggufx_sampler_sample(&id, NULL, chain, NULL, logits, V, &f.error));
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
        MUST(&f, add_example(chain, which, &f.error));
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
    ggufx_status status = ggufx_sampler_create(&chain, rt, V, 1, error);
    (void)context;
    for (uint32_t which = 0; which < 11 && status == GGUFX_OK; which++)
        status = add_example(chain, which, error);
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
    for (uint32_t which = 4; which < 11; which++) MUST(&f, add_example(chains[0], which, &f.error));
    MUST(&f, ggufx_sampler_clone(&chains[1], chains[0], &f.error));
    fault_reset(&f.memory);
    for (uint64_t i = 0; i < 800; i++) {
        float logprob = 0;
        int32_t id = -1;
        fill_logits(logits, V, i / 16);
        MUST(&f, ggufx_sampler_sample(&id, &logprob, chains[i % 2], NULL, logits, V, &f.error));
        MUST(&f, ggufx_sampler_accept(chains[i % 2], &id, 1, &f.error));
    }
    for (size_t i = 0; i < 2; i++) MUST(&f, ggufx_sampler_reset(chains[i], &f.error));
    assert_int_equal(f.memory.calls, 0);
    for (size_t i = 0; i < 2; i++) ggufx_sampler_destroy(chains[i]);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers_out_of_range_are_refused_by_name_and_value),
        cmocka_unit_test(test_samplers_refuse_bad_options_and_places),
        cmocka_unit_test(test_ids_outside_of_the_vocabulary_are_refused),
        cmocka_unit_test(test_chains_refuse_bad_calls_and_logits),
        cmocka_unit_test(test_logits_at_the_ends_of_floats_are_sampled),
        cmocka_unit_test(test_chains_survive_each_failing_allocation),
        cmocka_unit_test(test_sampling_and_accepting_allocate_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
