/*
 * Sampler through the public headers: kept tokens of each filter, ties, seeds.
 * SPDX-License-Identifier: MIT
 */
#include "sampler_fixture.h"

#include <math.h>
#include <string.h>

enum { DRAWS = 4000 };

/* Ids of the five likeliest tokens. */
static const int order[5] = {2, 5, 0, 3, 6};

/* counts[i] = draws of the i-th likeliest token; others fail the test. */
static void draw(fixture *f, ggufx_sampler *sampler, int counts[5]) {
    memset(counts, 0, 5 * sizeof *counts);
    for (int i = 0; i < DRAWS; i++) {
        int32_t id = -1;
        int rank = 0;
        MUST(f, ggufx_sampler_sample(&id, NULL, sampler, NULL, logits, N, &f->error));
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

static void test_sampler_without_temperature_takes_the_lowest_of_equals(void **state) {
    const float equal[N] = {1, 3, 2, 3, 3, -1, 0, 1};
    fixture f;
    ggufx_sampler *sampler;
    int32_t id = -1;
    float logprob = 1;
    (void)state;
    begin(&f, NULL);
    sampler = new_sampler(&f, 0, 0, 0, 0, 0);
    MUST(&f, ggufx_sampler_sample(&id, &logprob, sampler, NULL, equal, N, &f.error));
    assert_int_equal(id, 1);
    MUST(&f, ggufx_sampler_sample(&id, &logprob, sampler, NULL, logits, N, &f.error));
    assert_int_equal(id, 2);
    assert_true(fabs((double)logprob - log(0.4)) < 1e-6);
    MUST(&f, ggufx_sampler_sample(&id, &logprob, sampler, NULL, logits, 1, &f.error));
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
        MUST(&f, ggufx_sampler_sample(&id, NULL, sampler, NULL, equal, N, &f.error));
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
    draw(&f, new_sampler(&f, 1.0f, 0, 1e-9f, 0, 4), counts); /* one is always kept */
    assert_int_equal(counts[0], DRAWS);
    /* After top-k the mass is that of the three kept: 0.4 / 0.85 < 0.5 <= 0.7 / 0.85. */
    draw(&f, new_sampler(&f, 1.0f, 3, 0.5f, 0, 4), counts);
    assert_int_equal(counts[0] + counts[1], DRAWS);
    assert_true(counts[1] > 0);
    end(&f);
}

/* Equal tokens have weights of 1: the second of four reaches half of the mass exactly. */
static void test_sampler_top_p_ends_where_the_mass_is_reached(void **state) {
    const float equal[N] = {2, 2, 2, 2, -90, -90, -90, -90};
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (uint32_t top_k = 0; top_k <= 4; top_k += 4) { /* 0: all tokens, 4: those kept by top-k */
        ggufx_sampler *const sampler = new_sampler(&f, 1.0f, top_k, 0.5f, 0, 11);
        int seen[N] = {0};
        for (int i = 0; i < 200; i++) {
            int32_t id = 0;
            MUST(&f, ggufx_sampler_sample(&id, NULL, sampler, NULL, equal, N, &f.error));
            seen[id]++;
        }
        assert_true(seen[0] > 0 && seen[1] > 0);
        assert_int_equal(seen[0] + seen[1], 200);
        ggufx_sampler_destroy(sampler);
    }
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
    /* Filters come before the temperature: a high temperature does not restore dropped tokens. */
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
        MUST(&f, ggufx_sampler_sample(&x, NULL, a, NULL, logits, N, &f.error));
        MUST(&f, ggufx_sampler_sample(&y, NULL, b, NULL, logits, N, &f.error));
        MUST(&f, ggufx_sampler_sample(&z, NULL, c, NULL, logits, N, &f.error));
        assert_int_equal(x, y);
        assert_int_equal(x, expected[i]); /* on every machine */
        differ += x != z;
    }
    assert_true(differ > 0);
    ggufx_sampler_destroy(a);
    ggufx_sampler_destroy(b);
    ggufx_sampler_destroy(c);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sampler_without_temperature_takes_the_lowest_of_equals),
        cmocka_unit_test(test_sampler_draws_with_the_model_probabilities),
        cmocka_unit_test(test_sampler_temperature_sharpens_and_flattens),
        cmocka_unit_test(test_sampler_top_k_keeps_the_k_likeliest),
        cmocka_unit_test(test_sampler_top_k_keeps_the_lowest_ids_of_equals),
        cmocka_unit_test(test_sampler_top_p_keeps_enough_mass),
        cmocka_unit_test(test_sampler_top_p_ends_where_the_mass_is_reached),
        cmocka_unit_test(test_sampler_min_p_drops_the_unlikely),
        cmocka_unit_test(test_sampler_repeats_itself_with_the_same_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
