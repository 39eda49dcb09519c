/*
 * Draws of sampler chains: shares, equality on every instruction set, clones and resets; custom
 * samplers.
 * SPDX-License-Identifier: MIT
 */
#include "../instruction_sets.h"
#include "chain_fixture.h"

#include <math.h>
#include <string.h>

/* They change only together with a CHANGELOG line `bits:`. */
#define EXPECTED 0x622b89413a3ab867u
#define EXPECTED_FILTERS 0x570f77a3c857402du

enum { V = 2500, DRAWS = 4000 };

/* Five standard deviations of a binomial count. */
static void assert_share(int count, double p) {
    assert_true(fabs(count - DRAWS * p) <= 5.0 * sqrt(DRAWS * p * (1.0 - p)));
}

/* 200 tokens, some with two in a lane, are drawn with their probabilities, from the vocabulary and
 * from a list. */
static void test_draws_have_the_probabilities(void **state) {
    float logits[200];
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (int i = 0; i < 200; i++) logits[i] = logf(1.0f + (float)(i % 7));
    for (uint32_t k = 0; k <= 200; k += 200) {
        ggufx_sampler *chain = new_chain(&f, 200, 77);
        int residue[7] = {0}, half = 0;
        double total = 0, of[7] = {0}, low = 0;
        MUST(&f, ggufx_sampler_add_top_k(chain, k, &f.error));
        for (int i = 0; i < 200; i++) {
            total += 1 + i % 7;
            of[i % 7] += 1 + i % 7;
            low += i < 100 ? 1 + i % 7 : 0;
        }
        for (int i = 0; i < DRAWS; i++) {
            const int32_t id = sample(&f, chain, logits, 200);
            residue[id % 7]++;
            half += id < 100;
        }
        for (int i = 0; i < 7; i++) assert_share(residue[i], of[i] / total);
        assert_share(half, low / total);
        ggufx_sampler_destroy(chain);
    }
    end(&f);
}

static void test_xtc_acts_with_its_probability(void **state) {
    const float logits[4] = {3.0f, 2.9f, 2.8f, -1.0f};
    fixture f;
    int top = 0;
    (void)state;
    begin(&f, NULL);
    ggufx_sampler *chain = new_chain(&f, 4, 3);
    /* The threshold is 0.1: the third is the least likely above it. */
    MUST(&f, ggufx_sampler_add_xtc(chain, 0.3f, 0, &f.error));
    add_temperature(&f, chain, 0);
    for (int i = 0; i < DRAWS; i++) {
        const int32_t id = sample(&f, chain, logits, 4);
        assert_true(id == 0 || id == 2);
        top += id == 0;
    }
    assert_share(top, 0.7);
    ggufx_sampler_destroy(chain);
    end(&f);
}

/* ---- bits ---- */

static uint64_t mix(uint64_t hash, const void *data, size_t n) {
    for (size_t i = 0; i < n; i++) hash = (hash ^ ((const uint8_t *)data)[i]) * 0x100000001b3u;
    return hash;
}

static int is_mirostat(uint32_t which) {
    return which == MIROSTAT_1 || which == MIROSTAT_2;
}

/* Each kind alone, then chains of three; ids, remaining logits, log-probabilities. */
static uint64_t bits_of(fixture *f) {
    static float logits[V];
    static seen got;
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t which = 0; which < 5 * CHAIN_KINDS; which++) {
        ggufx_sampler *chain = new_chain(f, V, which);
        for (uint32_t i = 0; i < (which < CHAIN_KINDS ? 1u : 3u); i++) {
            const uint32_t kind =
                i ? (uint32_t)(mixed(which * 3 + i) % CHAIN_KINDS) : which % CHAIN_KINDS;
            if (which >= CHAIN_KINDS && is_mirostat(kind)) continue;
            MUST(f, add_example(chain, kind, &f->error));
        }
        for (uint64_t step = 0; step < 40; step++) {
            float logprob = 0;
            int32_t id = -1;
            const size_t n = step % 4 ? V : 70;
            fill_logits(logits, n, step / 2 + which);
            MUST(f, ggufx_sampler_sample(&id, &logprob, chain, NULL, logits, n, &f->error));
            MUST(f, ggufx_sampler_accept(chain, &id, 1, &f->error));
            hash = mix(mix(hash, &id, sizeof id), &logprob, sizeof logprob);
        }
        ggufx_sampler_destroy(chain);
        if (which >= CHAIN_KINDS) continue;
        if (is_mirostat(which)) continue;
        chain = new_chain(f, V, which);
        MUST(f, add_example(chain, which, &f->error));
        add_look(f, chain, &got);
        for (int32_t i = 0; i < 90; i++) {
            const int32_t id = (int32_t)(mixed((uint64_t)i) % 30);
            MUST(f, ggufx_sampler_accept(chain, &id, 1, &f->error));
        }
        fill_logits(logits, V, which);
        sample(f, chain, logits, V);
        hash = mix(hash, got.at, got.n * sizeof *got.at);
        ggufx_sampler_destroy(chain);
    }
    return hash;
}

/* With and without each of the usual filters, and greedy; zeros of both signs. */
static uint64_t filter_bits_of(fixture *f) {
    static const float temperatures[] = {0.0f, 0.7f, 1.0f, 1e-30f, 40.0f};
    static float logits[V];
    uint64_t hash = 0xcbf29ce484222325u;
    for (uint32_t which = 0; which < 40; which++) {
        ggufx_sampler *const sampler = new_chain(f, V, which);
        MUST(f, ggufx_sampler_add_top_k(sampler, which / 5 & 1 ? 50 : 0, &f->error));
        MUST(f, ggufx_sampler_add_top_p(sampler, which / 10 & 1 ? 0.9f : 0.0f, &f->error));
        MUST(f, ggufx_sampler_add_min_p(sampler, which / 20 & 1 ? 0.02f : 0.0f, &f->error));
        add_temperature(f, sampler, temperatures[which % 5]);
        for (uint64_t step = 0; step < 40; step++) {
            float logprob = 0;
            int32_t id = -1;
            const size_t n = step % 4 ? V : step % 8 ? 1 : 1025;
            fill_logits(logits, n, step / 2 + which);
            for (size_t i = 0; i < n; i += 5)
                logits[i] = step % 3 == 0 ? -INFINITY : step % 3 == 1 ? -0.0f : 0.0f;
            if (n == 1) logits[0] = -1.5f;
            MUST(f, ggufx_sampler_sample(&id, &logprob, sampler, NULL, logits, n, &f->error));
            hash = mix(mix(hash, &id, sizeof id), &logprob, sizeof logprob);
        }
        ggufx_sampler_destroy(sampler);
    }
    return hash;
}

/* Asserts the hash on each instruction set of this machine. */
static void assert_bits(uint64_t (*bits_of_all)(fixture *), uint64_t expected) {
    const uint16_t one = 1;
    int n = 0;
    for (size_t i = 0; i < kInstructionSetCount; i++) {
        fixture f;
        ggufx_runtime *own = NULL, *before;
        ggufx_runtime_options options = {.struct_size = sizeof options};
        options.isa = kInstructionSets[i];
        if (ggufx_runtime_create(&own, &options, NULL) != GGUFX_OK) continue;
        begin(&f, NULL);
        before = f.rt;
        f.rt = own;
        const uint64_t hash = bits_of_all(&f);
        f.rt = before;
        print_message("instruction set %d: %016llx\n", kInstructionSets[i],
                      (unsigned long long)hash);
        if (*(const uint8_t *)&one) assert_true(hash == expected); /* little-endian bytes */
        ggufx_runtime_destroy(own);
        end(&f);
        n++;
    }
    assert_true(n > 0);
}

static void test_bits_are_those_of_every_machine(void **state) {
    (void)state;
    assert_bits(bits_of, EXPECTED);
}

static void test_bits_of_usual_filters_are_those_of_every_machine(void **state) {
    (void)state;
    assert_bits(filter_bits_of, EXPECTED_FILTERS);
}

/* ---- clones, resets ---- */

static void test_clones_go_on_alike_and_resets_start_again(void **state) {
    static float logits[V];
    int32_t first[60], id;
    fixture f;
    (void)state;
    begin(&f, NULL);
    for (uint32_t end_by = MIROSTAT_1; end_by <= MIROSTAT_2; end_by += MIROSTAT_2 - MIROSTAT_1) {
        ggufx_sampler *chain = new_chain(&f, V, 8), *clone = NULL;
        for (uint32_t which = 5; which < 10; which++) MUST(&f, add_example(chain, which, &f.error));
        MUST(&f, add_example(chain, end_by, &f.error));
        for (uint64_t i = 0; i < 60; i++) {
            fill_logits(logits, V, i / 8);
            if (i == 25) MUST(&f, ggufx_sampler_clone(&clone, chain, &f.error));
            first[i] = sample(&f, chain, logits, V);
            if (clone) { /* samples in between */
                assert_int_equal(sample(&f, clone, logits, V), first[i]);
                MUST(&f, ggufx_sampler_accept(clone, first + i, 1, &f.error));
            }
            MUST(&f, ggufx_sampler_accept(chain, first + i, 1, &f.error));
        }
        ggufx_sampler_destroy(chain);
        MUST(&f, ggufx_sampler_reset(clone, &f.error));
        for (uint64_t i = 0; i < 60; i++) {
            fill_logits(logits, V, i / 8);
            id = sample(&f, clone, logits, V);
            assert_int_equal(id, first[i]);
            MUST(&f, ggufx_sampler_accept(clone, &id, 1, &f.error));
        }
        ggufx_sampler_destroy(clone);
    }
    end(&f);
}

/* ---- custom samplers ------ */

typedef struct change {
    int how;
    size_t n;
} change;

static ggufx_status reverse(void *user, ggufx_candidate *c, size_t n) {
    change *what = user;
    what->n = n;
    for (size_t i = 0; i < n / 2; i++) {
        const ggufx_candidate other = c[i];
        c[i] = c[n - 1 - i];
        c[n - 1 - i] = other;
    }
    for (size_t i = 0; i < n; i++) {
        if (what->how == 0) c[i].logit = c[i].id % 2 ? -INFINITY : (float)(c[i].id % 10);
        if (what->how == 1) c[i].logit = -INFINITY;
    }
    if (what->how == 2) c[n - 1].logit = NAN;
    if (what->how == 3) c[0].logit = INFINITY;
    if (what->how == 4) c[0].id = c[1].id;
    if (what->how == 5) c[0].id = -1;
    if (what->how == 6) c[0].id = V;
    return what->how == 7 ? GGUFX_E_IO : GGUFX_OK;
}

static void test_samplers_of_the_host_change_order_and_take_away(void **state) {
    static const ggufx_status status[8] = {GGUFX_OK,      GGUFX_E_VALUE, GGUFX_E_VALUE,
                                           GGUFX_E_VALUE, GGUFX_E_VALUE, GGUFX_E_VALUE,
                                           GGUFX_E_VALUE, GGUFX_E_IO};
    static const char *const text[8] = {"",      "no token", "NaN",           "NaN",
                                        "twice", "id -1",    "was not there", "host failed"};
    static float logits[V];
    static seen got;
    fixture f;
    (void)state;
    begin(&f, NULL);
    fill_logits(logits, V, 6);
    for (int list = 0; list < 2; list++) {
        for (int how = 0; how < 8; how++) {
            change what = {how, 0};
            ggufx_sampler *chain = new_chain(&f, V, 1);
            const uint32_t k = list ? 900 : 0;
            int32_t id = 5;
            MUST(&f, ggufx_sampler_add_top_k(chain, k, &f.error));
            MUST(&f, ggufx_sampler_add_host(chain, reverse, &what, &f.error));
            add_look(&f, chain, &got);
            if (how) {
                FAILS(&f, status[how], text[how],
                      ggufx_sampler_sample(&id, NULL, chain, NULL, logits, V, &f.error));
                assert_int_equal(id, 5);
                what.how = 8; /* no draw was made: continues as if nothing had failed */
                ggufx_sampler *const other = new_chain(&f, V, 1);
                MUST(&f, ggufx_sampler_add_top_k(other, k, &f.error));
                assert_int_equal(sample(&f, chain, logits, V), sample(&f, other, logits, V));
                ggufx_sampler_destroy(other);
            } else {
                sample(&f, chain, logits, V);
                size_t n_even = 0;
                for (size_t i = 0; i < got.n; i++) {
                    assert_true(got.at[i].id % 2 == 0);
                    assert_true(got.at[i].logit == (float)(got.at[i].id % 10));
                    n_even++;
                    if (i) /* by id, or by rank */
                        assert_true(list ? got.at[i].logit <= got.at[i - 1].logit
                                         : got.at[i].id > got.at[i - 1].id);
                }
                assert_true(list ? n_even > 300 : n_even == V / 2);
            }
            assert_int_equal(what.n, list ? 900 : V);
            ggufx_sampler_destroy(chain);
        }
    }
    end(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_draws_have_the_probabilities),
        cmocka_unit_test(test_xtc_acts_with_its_probability),
        cmocka_unit_test(test_bits_are_those_of_every_machine),
        cmocka_unit_test(test_bits_of_usual_filters_are_those_of_every_machine),
        cmocka_unit_test(test_clones_go_on_alike_and_resets_start_again),
        cmocka_unit_test(test_samplers_of_the_host_change_order_and_take_away),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
