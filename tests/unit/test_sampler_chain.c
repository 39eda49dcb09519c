/*
 * Samplers of a chain against their definitions in binary64: candidates kept by each filter, from
 * the vocabulary and from a list, and changed logits.
 * SPDX-License-Identifier: MIT
 */
#include "chain_fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { V = 2500, SEEDS = 12 };

typedef struct naive {
    size_t n;
    ggufx_candidate at[MOST]; /* by rank */
    double p[MOST];
} naive;

static int by_rank(const void *a, const void *b) {
    const ggufx_candidate *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return x->id - y->id;
}

static void weigh(naive *c) {
    double total = 0;
    qsort(c->at, c->n, sizeof *c->at, by_rank);
    for (size_t i = 0; i < c->n; i++)
        total += c->p[i] = exp((double)c->at[i].logit - (double)c->at[0].logit);
    for (size_t i = 0; i < c->n; i++) c->p[i] /= total;
}

static naive *naive_of(const float *logits, size_t n) {
    naive *c = calloc(1, sizeof *c);
    for (size_t i = 0; i < n; i++)
        if (logits[i] > -INFINITY) c->at[c->n++] = (ggufx_candidate){(int32_t)i, logits[i]};
    weigh(c);
    return c;
}

static double entropy_of(const naive *c) {
    double h = 0;
    for (size_t i = 0; i < c->n; i++) h -= c->p[i] > 0 ? c->p[i] * log(c->p[i]) : 0;
    return h;
}

/* ---- independent filters; *margin: relative distance of the closest decision  */

static void near(double *margin, double got, double limit) {
    const double distance = fabs(got - limit) / fabs(limit);
    if (distance < *margin) *margin = distance;
}

static size_t mass_of(const naive *c, double p, double *margin) {
    double mass = 0;
    for (size_t i = 0; i < c->n; i++) {
        mass += c->p[i];
        near(margin, mass, p);
        if (mass >= p) return i + 1;
    }
    return c->n;
}

static void keep_typical(naive *c, double p, double *margin) {
    static double distance[MOST];
    static naive out;
    const double h = entropy_of(c);
    double mass = 0;
    for (size_t i = 0; i < c->n; i++) distance[i] = fabs(-log(c->p[i]) - h);
    for (out.n = 0; mass < p && out.n < c->n;) {
        size_t best = 0;
        for (size_t i = 1; i < c->n; i++)
            if (distance[i] < distance[best]) best = i;
        out.at[out.n++] = c->at[best];
        mass += c->p[best];
        near(margin, mass, p);
        for (size_t i = 0; i < c->n; i++) /* binary32 must distinguish the next one */
            if (i != best && distance[i] < 1e9 && fabs(distance[i] - distance[best]) < 1e-5 &&
                mass >= p)
                *margin = 0;
        distance[best] = 1e300;
    }
    *c = out;
}

static void keep_sigma(naive *c, double n_sigma, double *margin) {
    double mean = 0, squares = 0;
    for (size_t i = 0; i < c->n; i++) mean += (double)c->at[i].logit / (double)c->n;
    for (size_t i = 0; i < c->n; i++) squares += pow((double)c->at[i].logit - mean, 2);
    const double least = (double)c->at[0].logit - n_sigma * sqrt(squares / (double)c->n);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        near(margin, (double)c->at[i].logit, least);
        n += (double)c->at[i].logit >= least;
    }
    c->n = n;
}

static void keep(naive *c, const filter *tested, double *margin) {
    size_t n = 0;
    switch (tested->kind) {
    case GGUFX_SAMPLER_TOP_K:
        c->n = c->n < (size_t)tested->a ? c->n : (size_t)tested->a;
        break;
    case GGUFX_SAMPLER_TOP_P:
        c->n = mass_of(c, (double)tested->a, margin);
        break;
    case GGUFX_SAMPLER_MIN_P:
        for (size_t i = 0; i < c->n; i++) {
            near(margin, c->p[i] / c->p[0], (double)tested->a);
            n += c->p[i] / c->p[0] >= (double)tested->a;
        }
        c->n = n;
        break;
    case GGUFX_SAMPLER_TYPICAL:
        keep_typical(c, (double)tested->a, margin);
        break;
    case GGUFX_SAMPLER_TOP_N_SIGMA:
        keep_sigma(c, (double)tested->a, margin);
        break;
    default: /* XTC that always acts */
        for (size_t i = 0; i < c->n; i++) {
            near(margin, c->p[i], (double)tested->b);
            n += c->p[i] >= (double)tested->b;
        }
        if (n >= 2) {
            memmove(c->at, c->at + n - 1, (c->n - n + 1) * sizeof *c->at);
            c->n -= n - 1;
        }
    }
    weigh(c);
}

/* Asserts the same candidates, in any order. */
static void assert_same(const naive *want, seen *got, double tolerance) {
    static ggufx_candidate sorted[MOST];
    assert_int_equal(got->n, want->n);
    memcpy(sorted, got->at, got->n * sizeof *sorted);
    qsort(sorted, got->n, sizeof *sorted, by_rank);
    for (size_t i = 0; i < got->n; i++) {
        assert_int_equal(sorted[i].id, want->at[i].id);
        assert_true(fabs((double)sorted[i].logit - (double)want->at[i].logit) <=
                    tolerance * (1 + fabs((double)want->at[i].logit)));
    }
}

/* A filter alone, and after a top-k that leaves a list. */
static void check_filter(fixture *f, filter tested) {
    static float logits[V];
    static seen got;
    int checked = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        const size_t n = seed % 3 == 2 ? 37 : V;
        fill_logits(logits, n, seed);
        for (uint32_t k = 0; k <= 300; k += 300) {
            ggufx_sampler *chain = new_chain(f, V, seed);
            const filter first = {.kind = GGUFX_SAMPLER_TOP_K, .a = (float)k};
            naive *want = naive_of(logits, n);
            double margin = 1;
            add_filter(f, chain, first);
            add_filter(f, chain, tested);
            add_look(f, chain, &got);
            sample(f, chain, logits, n);
            if (k) keep(want, &first, &margin);
            keep(want, &tested, &margin);
            if (margin > 2e-6) assert_same(want, &got, 0);
            checked += margin > 2e-6;
            free(want);
            ggufx_sampler_destroy(chain);
        }
    }
    assert_true(checked >= SEEDS); /* in 2 SEEDS: few decisions are that close */
}

static void test_filters_keep_what_their_definitions_keep(void **state) {
    static const filter filters[] = {
        {GGUFX_SAMPLER_TOP_K, 1, 0},          {GGUFX_SAMPLER_TOP_K, 2, 0},
        {GGUFX_SAMPLER_TOP_K, 64, 0},         {GGUFX_SAMPLER_TOP_K, 299, 0},
        {GGUFX_SAMPLER_TOP_K, 700, 0},        {GGUFX_SAMPLER_TOP_K, 5000, 0},
        {GGUFX_SAMPLER_TOP_P, 0.01f, 0},      {GGUFX_SAMPLER_TOP_P, 0.3f, 0},
        {GGUFX_SAMPLER_TOP_P, 0.5f, 0},       {GGUFX_SAMPLER_TOP_P, 0.9f, 0},
        {GGUFX_SAMPLER_TOP_P, 0.99f, 0},      {GGUFX_SAMPLER_TOP_P, 0.9999f, 0},
        {GGUFX_SAMPLER_TYPICAL, 0.01f, 0},    {GGUFX_SAMPLER_TYPICAL, 0.3f, 0},
        {GGUFX_SAMPLER_TYPICAL, 0.5f, 0},     {GGUFX_SAMPLER_TYPICAL, 0.9f, 0},
        {GGUFX_SAMPLER_TYPICAL, 0.99f, 0},    {GGUFX_SAMPLER_TYPICAL, 0.9999f, 0},
        {GGUFX_SAMPLER_MIN_P, 1e-30f, 0},     {GGUFX_SAMPLER_MIN_P, 1e-3f, 0},
        {GGUFX_SAMPLER_MIN_P, 0.02f, 0},      {GGUFX_SAMPLER_MIN_P, 0.1f, 0},
        {GGUFX_SAMPLER_MIN_P, 0.5f, 0},       {GGUFX_SAMPLER_TOP_N_SIGMA, 0.1f, 0},
        {GGUFX_SAMPLER_TOP_N_SIGMA, 0.5f, 0}, {GGUFX_SAMPLER_TOP_N_SIGMA, 1.0f, 0},
        {GGUFX_SAMPLER_TOP_N_SIGMA, 2.0f, 0}, {GGUFX_SAMPLER_TOP_N_SIGMA, 3.0f, 0},
        {GGUFX_SAMPLER_TOP_N_SIGMA, 30, 0},   {GGUFX_SAMPLER_XTC, 1, 1e-4f},
        {GGUFX_SAMPLER_XTC, 1, 1e-3f},        {GGUFX_SAMPLER_XTC, 1, 3e-3f},
        {GGUFX_SAMPLER_XTC, 1, 0.01f},        {GGUFX_SAMPLER_XTC, 1, 0.1f},
        {GGUFX_SAMPLER_XTC, 1, 0.6f},         {GGUFX_SAMPLER_XTC, 1, 1e-20f}, /* above all */
    };
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) check_filter(&f, filters[i]);
    end(&f);
}

static void test_filters_of_equals_keep_the_lowest_ids(void **state) {
    static float equal[V];
    static seen got;
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (size_t i = 0; i < V; i++) equal[i] = i % 5 == 3 ? 1.0f : -60.0f; /* 500 equal ones */
    static const filter filters[] = {{GGUFX_SAMPLER_TOP_K, 250, 0},
                                     {GGUFX_SAMPLER_TOP_P, 0.5f, 0},
                                     {GGUFX_SAMPLER_MIN_P, 1, 0},
                                     {GGUFX_SAMPLER_TYPICAL, 0.5f, 0}};
    for (size_t which = 0; which < sizeof filters / sizeof *filters; which++) {
        ggufx_sampler *chain = new_chain(&f, V, 1);
        add_filter(&f, chain, filters[which]);
        add_look(&f, chain, &got);
        sample(&f, chain, equal, V);
        assert_int_equal(got.n, filters[which].kind == GGUFX_SAMPLER_MIN_P ? 500 : 250);
        for (size_t i = 0; i < got.n; i++) assert_int_equal(got.at[i].id, 5 * i + 3);
        ggufx_sampler_destroy(chain);
    }
    end(&f);
}

/* ---- changed logits  */

static void test_temperature_divides_and_below_the_least_only_the_likeliest_stays(void **state) {
    static float logits[V];
    static seen got;
    fixture f;
    (void)state;
    begin(&f, NULL);
    fill_logits(logits, V, 3);
    logits[17] = logits[5] = 20;
    for (int i = 0; i < 4; i++) {
        ggufx_sampler *chain = new_chain(&f, V, 1);
        const float temperature = (float[]){0.7f, 3.0f, 0.0f, 1e-7f}[i];
        add_temperature(&f, chain, temperature);
        add_look(&f, chain, &got);
        const int32_t id = sample(&f, chain, logits, V);
        if (i < 2) {
            assert_int_equal(got.n, V);
            for (size_t j = 0; j < V; j++) assert_true(got.at[j].logit == logits[j] / temperature);
        } else {
            assert_int_equal(got.n, 1);
            assert_int_equal(id, 5);
        }
        ggufx_sampler_destroy(chain);
    }
    end(&f);
}

static void test_dynamic_temperature_follows_the_entropy(void **state) {
    static float logits[V];
    static seen got;
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        ggufx_sampler *chain = new_chain(&f, V, 1);
        const filter few = {.kind = GGUFX_SAMPLER_TOP_K, .a = seed % 2 ? 100 : 0};
        const ggufx_temperature_options dynamic = {
            .struct_size = sizeof dynamic, .range = 0.6f, .exponent = seed % 3 ? 2.5f : 0};
        fill_logits(logits, V, seed);
        for (size_t i = 0; i < V; i++) logits[i] *= (float)seed / 3.0f;
        add_filter(&f, chain, few);
        MUST(&f, ggufx_sampler_add_temperature(chain, 0.9f, &dynamic, &f.error));
        add_look(&f, chain, &got);
        sample(&f, chain, logits, V);
        naive *want = naive_of(logits, V);
        double margin = 1;
        if (few.a > 0) keep(want, &few, &margin);
        const double even = entropy_of(want) / log((double)want->n);
        const double t = 0.3 + 1.2 * pow(even, seed % 3 ? 2.5 : 1.0);
        for (size_t i = 0; i < got.n; i++) {
            const double plain = (double)logits[got.at[i].id];
            assert_true(fabs((double)got.at[i].logit - plain / t) <= 1e-5 * (1 + fabs(plain)));
        }
        free(want);
        ggufx_sampler_destroy(chain);
    }
    end(&f);
}

static void test_penalties_count_the_last_tokens(void **state) {
    static float logits[V];
    static seen got;
    fixture f;
    (void)state;
    begin(&f, NULL);
    fill_logits(logits, V, 9);
    for (uint32_t k = 0; k <= 400; k += 400) {
        ggufx_sampler *chain = new_chain(&f, V, 1);
        int32_t text[300];
        MUST(&f, ggufx_sampler_add_top_k(chain, k, &f.error));
        MUST(&f, add_example(chain, 7, &f.error));
        add_look(&f, chain, &got);
        for (size_t i = 0; i < 300; i++) text[i] = (int32_t)(mixed(i) % 70);
        for (size_t step = 0; step < 300; step++) {
            if (step % 50 == 13) {
                size_t n_found = 0;
                sample(&f, chain, logits, V);
                for (size_t i = 0; i < got.n; i++) {
                    int count = 0;
                    const double plain = (double)logits[got.at[i].id];
                    double want = plain;
                    for (size_t j = step > 64 ? step - 64 : 0; j < step; j++)
                        count += text[j] == got.at[i].id;
                    if (count) want = (plain > 0 ? plain / 1.2 : plain * 1.2) - count * 0.3 - 0.5;
                    n_found += count > 0;
                    assert_true(fabs((double)got.at[i].logit - want) <= 1e-5);
                }
                assert_true(n_found > 1);
            }
            MUST(&f, ggufx_sampler_accept(chain, text + step, 1, &f.error));
        }
        ggufx_sampler_destroy(chain);
    }
    end(&f);
}

/* For every position in the window: length of the match with the end of the text, up to a
 * breaker. */
static double repeat_penalty(const int32_t *text, size_t n, int32_t id, size_t window) {
    const size_t first = n > window ? n - window : 0;
    size_t longest = 0;
    if (id == 11 || id == 12) return 0;
    for (size_t at = first; at + 1 < n; at++) {
        size_t length = 0;
        if (text[at + 1] != id) continue;
        while (at + 1 > first + length && text[at - length] == text[n - 1 - length] &&
               text[n - 1 - length] != 11 && text[n - 1 - length] != 12)
            length++;
        if (length > longest) longest = length;
    }
    return longest >= 2 ? 0.8 * pow(1.75, (double)longest - 2) : 0;
}

static void test_dry_penalizes_what_would_repeat_a_text(void **state) {
    static float logits[V];
    static seen got;
    fixture f;
    size_t n_hit = 0;
    (void)state;
    begin(&f, NULL);
    fill_logits(logits, V, 10);
    for (uint32_t k = 0; k <= 2000; k += 2000) {
        ggufx_sampler *chain = new_chain(&f, V, 1);
        int32_t text[700];
        MUST(&f, ggufx_sampler_add_top_k(chain, k, &f.error));
        MUST(&f, add_example(chain, 8, &f.error));
        add_look(&f, chain, &got);
        for (size_t i = 0; i < 700; i++) /* copies of itself with errors, runs, breakers */
            text[i] = i > 60 && mixed(i) % 9 ? text[i - 17 - i / 200] : (int32_t)(mixed(i) % 14);
        for (size_t step = 0; step < 700; step++) {
            if (step % 7 == 3) {
                sample(&f, chain, logits, V);
                for (size_t i = 0; i < got.n; i++) {
                    const double drop = repeat_penalty(text, step, got.at[i].id, 256);
                    const double want = (double)logits[got.at[i].id] - drop;
                    n_hit += drop > 0;
                    assert_true(fabs((double)got.at[i].logit - want) <= 1e-5 * (1 + fabs(want)));
                }
            }
            MUST(&f, ggufx_sampler_accept(chain, text + step, 1, &f.error));
        }
        ggufx_sampler_destroy(chain);
    }
    assert_true(n_hit > 100);
    end(&f);
}

static void test_biases_add_up_and_ban(void **state) {
    static float logits[V];
    static seen got;
    const ggufx_logit_bias biases[3] = {{2400, 3.5f}, {12, -INFINITY}, {0, -2.0f}};
    fixture f;
    (void)state;
    begin(&f, NULL);
    fill_logits(logits, V, 4);
    logits[12] = 30;
    for (int list = 0; list < 2; list++) {
        ggufx_sampler *chain = new_chain(&f, V, 1);
        MUST(&f, ggufx_sampler_add_top_k(chain, list ? V : 0, &f.error));
        MUST(&f, ggufx_sampler_add_logit_bias(chain, biases, 3, &f.error));
        add_look(&f, chain, &got);
        sample(&f, chain, logits, V);
        assert_int_equal(got.n, V - 1);
        for (size_t i = 0; i < got.n; i++) {
            const int32_t id = got.at[i].id;
            assert_int_not_equal(id, 12);
            assert_true(got.at[i].logit == logits[id] + (id == 2400 ? 3.5f
                                                         : id == 0  ? -2.0f
                                                                    : 0.0f));
        }
        ggufx_sampler_destroy(chain);
    }
    end(&f);
}

/* ---- mirostat ---- */

static double surprise_of(const naive *kept, int32_t id) {
    double total = 0, own = 0;
    for (size_t i = 0; i < kept->n; i++) {
        const double w = exp((double)kept->at[i].logit - (double)kept->at[0].logit);
        total += w;
        if (kept->at[i].id == id) own = w;
    }
    assert_true(own > 0);
    return -log2(own / total);
}

static size_t mirostat_1(const naive *c, double mu) {
    double tb = 0, tt = 0;
    for (size_t i = 0; i < 49; i++) {
        const double t = log(((double)i + 2) / ((double)i + 1));
        tb += t * log(c->p[i] / c->p[i + 1]);
        tt += t * t;
    }
    const double s = tb / tt, e = s - 1;
    const double k = pow(e * pow(2, mu) / (1 - pow(V, -e)), 1 / s);
    return k < 1 ? 1 : k > (double)c->n ? c->n : (size_t)k;
}

/* Steps of a sequence, each with the mu after the previous ones. */
static void test_mirostat_follows_its_definition(void **state) {
    static float logits[V];
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (uint32_t version = 1; version <= 2; version++) {
        ggufx_sampler *chain = new_chain(&f, V, 5);
        const double tau = version == 1 ? 3 : 4, eta = version == 1 ? 0.1 : 0.2;
        double mu = 2 * tau, sum = 0;
        MUST(&f, add_example(chain, version == 1 ? MIROSTAT_1 : MIROSTAT_2, &f.error));
        for (uint64_t step = 0; step < 60; step++) {
            fill_logits(logits, V, step);
            naive *c = naive_of(logits, V);
            if (version == 1) {
                c->n = mirostat_1(c, mu);
            } else {
                size_t n = 0;
                while (n < c->n && -log2(c->p[n]) <= mu) n++;
                c->n = n ? n : 1;
            }
            const int32_t id = sample(&f, chain, logits, V);
            const double surprise = surprise_of(c, id); /* fails if it was not kept */
            MUST(&f, ggufx_sampler_accept(chain, &id, 1, &f.error));
            mu -= eta * (surprise - tau);
            sum += surprise;
            free(c);
        }
        assert_true(fabs(sum / 60 - tau) < 0.7); /* converges to tau */
        ggufx_sampler_destroy(chain);
    }
    end(&f);
}

static void test_mirostat_learns_of_the_token_it_drew_alone(void **state) {
    static float logits[V];
    fixture f;
    ggufx_sampler *a, *b;
    int differ = 0;
    (void)state;
    begin(&f, NULL);
    fill_logits(logits, V, 1);
    a = new_chain(&f, V, 5);
    b = new_chain(&f, V, 5);
    MUST(&f, add_example(a, MIROSTAT_2, &f.error));
    MUST(&f, add_example(b, MIROSTAT_2, &f.error));
    for (int i = 0; i < 200; i++) { /* the same draws, but b accepts other tokens */
        const int32_t x = sample(&f, a, logits, V), other = (x + 1) % V;
        differ += x != sample(&f, b, logits, V);
        MUST(&f, ggufx_sampler_accept(a, &x, 1, &f.error));
        MUST(&f, ggufx_sampler_accept(b, &other, 1, &f.error));
    }
    assert_true(differ > 0);
    ggufx_sampler_destroy(a);
    ggufx_sampler_destroy(b);
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_filters_keep_what_their_definitions_keep),
        cmocka_unit_test(test_filters_of_equals_keep_the_lowest_ids),
        cmocka_unit_test(test_temperature_divides_and_below_the_least_only_the_likeliest_stays),
        cmocka_unit_test(test_dynamic_temperature_follows_the_entropy),
        cmocka_unit_test(test_penalties_count_the_last_tokens),
        cmocka_unit_test(test_dry_penalizes_what_would_repeat_a_text),
        cmocka_unit_test(test_biases_add_up_and_ban),
        cmocka_unit_test(test_mirostat_follows_its_definition),
        cmocka_unit_test(test_mirostat_learns_of_the_token_it_drew_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
