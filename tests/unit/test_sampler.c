/*
 * Sampler through the public headers: what each filter keeps, ties, seeds, misuse.
 * SPDX-License-Identifier: MIT
 */
#include "model_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8, DRAWS = 4000 };

/* Probabilities 0.4 0.3 0.15 0.1 0.05 and three of about 0, shuffled. */
static const float logits[N] = {-1.8971200f, -40.0f,      -0.9162907f, -2.3025851f,
                                -41.0f,      -1.2039728f, -2.9957323f, -42.0f};
static const int order[5] = {2, 5, 0, 3, 6};

static ggufx_sampler *new_sampler(fixture *f, float temperature, uint32_t top_k, float top_p,
                                  float min_p, uint64_t seed) {
    ggufx_sampler_options options;
    ggufx_sampler *sampler = NULL;
    ggufx_sampler_options_init(&options);
    options.temperature = temperature;
    options.top_k = top_k;
    options.top_p = top_p;
    options.min_p = min_p;
    options.seed = seed;
    MUST(f, ggufx_sampler_create(&sampler, f->rt, N, &options, &f->error));
    return sampler;
}

/* counts[i] = draws of the i-th likeliest token; others fail the test. */
static void draw(fixture *f, ggufx_sampler *sampler, int counts[5]) {
    memset(counts, 0, 5 * sizeof *counts);
    for (int i = 0; i < DRAWS; i++) {
        int32_t id = -1;
        int rank = 0;
        MUST(f, ggufx_sampler_sample(&id, NULL, sampler, logits, N, &f->error));
        while (rank < 5 && order[rank] != id) rank++;
        assert_true(rank < 5);
        counts[rank]++;
    }
    ggufx_sampler_destroy(sampler);
}

/* Five standard deviations of a binomial count. */
static void assert_share(int count, double p) {
    assert_true(fabs(count - DRAWS * p) <= 5.0 * sqrt(DRAWS * p * (1.0 - p)));
}

static void test_sampler_is_greedy_by_default_and_takes_the_lowest_of_equals(void **state) {
    const float equal[N] = {1, 3, 2, 3, 3, -1, 0, 1};
    fixture f;
    ggufx_sampler *sampler = NULL;
    int32_t id = -1;
    float logprob = 1;
    (void)state;
    begin(&f, NULL);
    MUST(&f, ggufx_sampler_create(&sampler, f.rt, N, NULL, &f.error));
    MUST(&f, ggufx_sampler_sample(&id, &logprob, sampler, equal, N, &f.error));
    assert_int_equal(id, 1);
    MUST(&f, ggufx_sampler_sample(&id, &logprob, sampler, logits, N, &f.error));
    assert_int_equal(id, 2);
    assert_true(fabs((double)logprob - log(0.4)) < 1e-6);
    MUST(&f, ggufx_sampler_sample(&id, &logprob, sampler, logits, 1, &f.error));
    assert_int_equal(id, 0);
    assert_true(fabs((double)logprob) < 1e-6);
    ggufx_sampler_destroy(sampler);
    end(&f);
}

static void test_sampler_draws_with_the_model_probabilities(void **state) {
    static const double p[5] = {0.4, 0.3, 0.15, 0.1, 0.05};
    fixture f;
    int counts[5];
    (void)state;
    begin(&f, NULL);
    draw(&f, new_sampler(&f, 1.0f, 0, 0, 0, 1), counts);
    for (int i = 0; i < 5; i++) assert_share(counts[i], p[i]);
    end(&f);
}

static void test_sampler_temperature_sharpens_and_flattens(void **state) {
    fixture f;
    int counts[5];
    (void)state;
    begin(&f, NULL);
    draw(&f, new_sampler(&f, 0.5f, 0, 0, 0, 2), counts); /* squares: 16 9 2.25 1 0.25 of 28.5 */
    assert_share(counts[0], 0.16 / 0.285);
    assert_share(counts[1], 0.09 / 0.285);
    draw(&f, new_sampler(&f, 1e-30f, 0, 0, 0, 2), counts);
    assert_int_equal(counts[0], DRAWS);
    end(&f);
}

static void test_sampler_top_k_keeps_the_k_likeliest(void **state) {
    fixture f;
    int counts[5];
    (void)state;
    begin(&f, NULL);
    draw(&f, new_sampler(&f, 1.0f, 2, 0, 0, 3), counts);
    assert_share(counts[0], 4.0 / 7);
    assert_int_equal(counts[0] + counts[1], DRAWS);
    draw(&f, new_sampler(&f, 1.0f, 1, 0, 0, 3), counts);
    assert_int_equal(counts[0], DRAWS);
    draw(&f, new_sampler(&f, 1.0f, 100, 0, 0, 3), counts);
    assert_share(counts[4], 0.05);
    end(&f);
}

static void test_sampler_top_k_keeps_the_lowest_ids_of_equals(void **state) {
    const float equal[N] = {0, 2, 2, 2, 2, 0, 2, 1};
    int seen[N] = {0};
    fixture f;
    ggufx_sampler *sampler;
    (void)state;
    begin(&f, NULL);
    sampler = new_sampler(&f, 1.0f, 2, 0, 0, 8);
    for (int i = 0; i < 100; i++) {
        int32_t id = 0;
        MUST(&f, ggufx_sampler_sample(&id, NULL, sampler, equal, N, &f.error));
        seen[id]++;
    }
    assert_true(seen[1] > 0 && seen[2] > 0);
    assert_int_equal(seen[1] + seen[2], 100);
    ggufx_sampler_destroy(sampler);
    end(&f);
}

static void test_sampler_top_p_keeps_enough_mass(void **state) {
    fixture f;
    int counts[5];
    (void)state;
    begin(&f, NULL);
    draw(&f, new_sampler(&f, 1.0f, 0, 0.69f, 0, 4), counts); /* 0.4 is not enough, 0.7 is */
    assert_int_equal(counts[0] + counts[1], DRAWS);
    assert_share(counts[1], 3.0 / 7);
    draw(&f, new_sampler(&f, 1.0f, 0, 0.72f, 0, 4), counts);
    assert_int_equal(counts[0] + counts[1] + counts[2], DRAWS);
    assert_true(counts[2] > 0);
    draw(&f, new_sampler(&f, 1.0f, 0, 1e-9f, 0, 4), counts); /* one always stays */
    assert_int_equal(counts[0], DRAWS);
    /* After top-k the mass is that of the three left: 0.4 / 0.85 < 0.5 <= 0.7 / 0.85. */
    draw(&f, new_sampler(&f, 1.0f, 3, 0.5f, 0, 4), counts);
    assert_int_equal(counts[0] + counts[1], DRAWS);
    assert_true(counts[1] > 0);
    end(&f);
}

static void test_sampler_min_p_drops_the_unlikely(void **state) {
    fixture f;
    int counts[5];
    (void)state;
    begin(&f, NULL);
    draw(&f, new_sampler(&f, 1.0f, 0, 0, 0.3f, 5), counts); /* 0.3 * 0.4 = 0.12 */
    assert_int_equal(counts[0] + counts[1] + counts[2], DRAWS);
    assert_true(counts[2] > 0);
    draw(&f, new_sampler(&f, 1.0f, 0, 0, 1.0f, 5), counts);
    assert_int_equal(counts[0], DRAWS);
    /* Filters come before the temperature: heat does not bring back what was dropped. */
    draw(&f, new_sampler(&f, 100.0f, 0, 0, 0.3f, 5), counts);
    assert_int_equal(counts[0] + counts[1] + counts[2], DRAWS);
    assert_share(counts[2], 1.0 / 3);
    end(&f);
}

static void test_sampler_repeats_itself_with_the_same_seed(void **state) {
    static const int32_t expected[16] = {5, 2, 2, 2, 2, 0, 2, 0, 2, 5, 2, 5, 5, 5, 5, 2};
    fixture f;
    ggufx_sampler *a, *b, *c;
    int differ = 0;
    (void)state;
    begin(&f, NULL);
    a = new_sampler(&f, 0.9f, 6, 0.93f, 0.01f, 42);
    b = new_sampler(&f, 0.9f, 6, 0.93f, 0.01f, 42);
    c = new_sampler(&f, 0.9f, 6, 0.93f, 0.01f, 43);
    for (int i = 0; i < 16; i++) {
        int32_t x = -1, y = -1, z = -1;
        MUST(&f, ggufx_sampler_sample(&x, NULL, a, logits, N, &f.error));
        MUST(&f, ggufx_sampler_sample(&y, NULL, b, logits, N, &f.error));
        MUST(&f, ggufx_sampler_sample(&z, NULL, c, logits, N, &f.error));
        assert_int_equal(x, y);
        assert_int_equal(x, expected[i]); /* of every machine */
        differ += x != z;
    }
    assert_true(differ > 0);
    ggufx_sampler_destroy(a);
    ggufx_sampler_destroy(b);
    ggufx_sampler_destroy(c);
    end(&f);
}

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
              ggufx_sampler_sample(&id, NULL, sampler, bad, N, &f.error));
        bad[5] = INFINITY;
        FAILS(&f, GGUFX_E_VALUE, "logit 5",
              ggufx_sampler_sample(&id, NULL, sampler, bad, N, &f.error));
        for (int i = 0; i < N; i++) bad[i] = -INFINITY;
        FAILS(&f, GGUFX_E_VALUE, "finite",
              ggufx_sampler_sample(&id, NULL, sampler, bad, N, &f.error));
        bad[3] = 0.0f;
        MUST(&f, ggufx_sampler_sample(&id, NULL, sampler, bad, N, &f.error));
        assert_int_equal(id, 3);
        ggufx_sampler_destroy(sampler);
    }
    end(&f);
}

static void test_sampler_calls_refuse_bad_arguments(void **state) {
    fixture f;
    ggufx_sampler *sampler = NULL;
    ggufx_sampler_options options;
    int32_t id = 0;
    (void)state;
    begin(&f, NULL);
    FAILS(&f, GGUFX_E_ARGUMENT, "out", ggufx_sampler_create(NULL, f.rt, N, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "rt", ggufx_sampler_create(&sampler, NULL, N, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_vocab", ggufx_sampler_create(&sampler, f.rt, 0, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n_vocab",
          ggufx_sampler_create(&sampler, f.rt, 0x80000000u, NULL, &f.error));
    for (int field = 0; field < 3; field++) {
        static const float bad[3] = {-1.0f, NAN, INFINITY};
        for (int i = 0; i < 3; i++) {
            ggufx_sampler_options_init(&options);
            *(field == 0   ? &options.temperature
              : field == 1 ? &options.top_p
                           : &options.min_p) = bad[i];
            FAILS(&f, GGUFX_E_ARGUMENT,
                  field == 0   ? "temperature"
                  : field == 1 ? "top_p"
                               : "min_p",
                  ggufx_sampler_create(&sampler, f.rt, N, &options, &f.error));
            assert_null(sampler);
        }
    }
    ggufx_sampler_options_init(&options);
    options.min_p = 1.5f;
    FAILS(&f, GGUFX_E_ARGUMENT, "min_p",
          ggufx_sampler_create(&sampler, f.rt, N, &options, &f.error));
    ggufx_sampler_options_init(&options);
    options.flags = 1;
    FAILS(&f, GGUFX_E_ARGUMENT, "ggufx_sampler_options",
          ggufx_sampler_create(&sampler, f.rt, N, &options, &f.error));
    MUST(&f, ggufx_sampler_create(&sampler, f.rt, N, NULL, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_sampler_sample(NULL, NULL, sampler, logits, N, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_sampler_sample(&id, NULL, NULL, logits, N, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "", ggufx_sampler_sample(&id, NULL, sampler, NULL, N, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n is 0",
          ggufx_sampler_sample(&id, NULL, sampler, logits, 0, &f.error));
    FAILS(&f, GGUFX_E_ARGUMENT, "n is 9",
          ggufx_sampler_sample(&id, NULL, sampler, logits, N + 1, &f.error));
    ggufx_sampler_destroy(sampler);
    ggufx_sampler_destroy(NULL);
    ggufx_sampler_options_init(NULL);
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
    MUST(&f, ggufx_sampler_sample(&id, &logprob, sampler, logits, N, &f.error));
    assert_int_equal(f.memory.calls, 0);
    ggufx_sampler_destroy(sampler);
    end(&f);
}

static ggufx_status create_only(void *context, ggufx_runtime *rt, ggufx_error *error) {
    ggufx_sampler *sampler = NULL;
    const ggufx_status status = ggufx_sampler_create(&sampler, rt, N, NULL, error);
    (void)context;
    ggufx_sampler_destroy(sampler);
    return status;
}

static void test_sampler_survives_each_failing_allocation(void **state) {
    (void)state;
    assert_int_equal(fault_run(create_only, NULL), 3);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampler_is_greedy_by_default_and_takes_the_lowest_of_equals),
        cmocka_unit_test(test_sampler_draws_with_the_model_probabilities),
        cmocka_unit_test(test_sampler_temperature_sharpens_and_flattens),
        cmocka_unit_test(test_sampler_top_k_keeps_the_k_likeliest),
        cmocka_unit_test(test_sampler_top_k_keeps_the_lowest_ids_of_equals),
        cmocka_unit_test(test_sampler_top_p_keeps_enough_mass),
        cmocka_unit_test(test_sampler_min_p_drops_the_unlikely),
        cmocka_unit_test(test_sampler_repeats_itself_with_the_same_seed),
        cmocka_unit_test(test_sampler_rejects_logits_without_an_order),
        cmocka_unit_test(test_sampler_calls_refuse_bad_arguments),
        cmocka_unit_test(test_sampling_does_not_allocate),
        cmocka_unit_test(test_sampler_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
