/*
 * Sampler: unordered logits (NaN), misuse, failing allocations.
 * SPDX-License-Identifier: MIT
 */
#include "sampler_fixture.h"

#include <math.h>
#include <string.h>

static void test_sampler_rejects_logits_without_an_order(void **state) {
    fixture f;
    ggufx_sampler *sampler;
    float bad[N];
    int32_t id = 77;
    (void)state;
    begin(&f, NULL);
    for (int greedy = 0; greedy < 2; greedy++) {
        sampler = new_sampler(&f, greedy ? 0.0f : 1.0f, 0, 0, 0, 6);
        memcpy(bad, logits, sizeof bad);
        bad[5] = NAN;
        FAILS(&f, GGUFX_E_VALUE, "logit 5",
              ggufx_sampler_sample(&id, NULL, sampler, NULL, bad, N, &f.error));
        bad[5] = INFINITY;
        FAILS(&f, GGUFX_E_VALUE, "logit 5",
              ggufx_sampler_sample(&id, NULL, sampler, NULL, bad, N, &f.error));
        for (int i = 0; i < N; i++) bad[i] = -INFINITY;
        FAILS(&f, GGUFX_E_VALUE, "finite",
              ggufx_sampler_sample(&id, NULL, sampler, NULL, bad, N, &f.error));
        bad[3] = 0.0f;
        MUST(&f, ggufx_sampler_sample(&id, NULL, sampler, NULL, bad, N, &f.error));
        assert_int_equal(id, 3);
        ggufx_sampler_destroy(sampler);
    }
    end(&f);
}

static void test_sampler_calls_refuse_bad_arguments(void **state) {
    fixture f;
    ggufx_sampler *sampler = NULL;
    int32_t id = 0;
    (void)state;
    begin(&f, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_sampler_create(NULL, f.rt, N, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "rt", ggufx_sampler_create(&sampler, NULL, N, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_vocab", ggufx_sampler_create(&sampler, f.rt, 0, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_vocab",
          ggufx_sampler_create(&sampler, f.rt, 0x80000000u, 0, &f.error));
    assert_null(sampler);
    MUST(&f, ggufx_sampler_create(&sampler, f.rt, N, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "",
          ggufx_sampler_sample(NULL, NULL, sampler, NULL, logits, N, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "",
          ggufx_sampler_sample(&id, NULL, NULL, NULL, logits, N, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "",
          ggufx_sampler_sample(&id, NULL, sampler, NULL, NULL, N, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n is 0",
          ggufx_sampler_sample(&id, NULL, sampler, NULL, logits, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n is 9",
          ggufx_sampler_sample(&id, NULL, sampler, NULL, logits, N + 1, &f.error));
    ggufx_sampler_destroy(sampler);
    ggufx_sampler_destroy(NULL);
    end(&f);
}

static void test_sampling_does_not_allocate(void **state) {
    fixture f;
    ggufx_sampler *sampler;
    int32_t id = 0;
    float logprob = 0;
    (void)state;
    begin(&f, NULL);
    sampler = new_sampler(&f, 1.0f, 3, 0.9f, 0.1f, 7);
    fault_reset(&f.memory);
    MUST(&f, ggufx_sampler_sample(&id, &logprob, sampler, NULL, logits, N, &f.error));
    assert_int_equal(f.memory.calls, 0);
    ggufx_sampler_destroy(sampler);
    end(&f);
}

static ggufx_status create_only(void *context, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_sampler *sampler = NULL;
    const ggufx_status status = ggufx_sampler_create(&sampler, rt, N, 0, error);
    (void)context;
    ggufx_sampler_destroy(sampler);
    return status;
}

static void test_sampler_survives_each_failing_allocation(void **state) {
    (void)state;
    assert_int_equal(fault_run(create_only, NULL), 7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampler_rejects_logits_without_an_order),
        cmocka_unit_test(test_sampler_calls_refuse_bad_arguments),
        cmocka_unit_test(test_sampling_does_not_allocate),
        cmocka_unit_test(test_sampler_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
