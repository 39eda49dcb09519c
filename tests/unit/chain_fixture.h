/*
 * Sampler chains, and the candidates left after a step of the chain, recorded by a custom sampler.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_FIXTURE_H
#define CHAIN_FIXTURE_H

#include "model_fixture.h"

enum { MOST = 3000 };

/* Candidates that a custom sampler receives. */
typedef struct seen {
    size_t n;
    ggufx_candidate at[MOST];
    ggufx_status result; /* status returned by the custom sampler */
} seen;
ggufx_status look(void *user, ggufx_candidate *candidates, size_t n);

/* A filter with its numbers; top-k: `a` is k. */
typedef struct filter {
    ggufx_sampler_kind kind;
    float a, b;
} filter;

/* Appends a filter, a constant temperature, or a sampler that records, to the chain. */
void add_filter(fixture *f, ggufx_sampler *chain, filter added);
void add_temperature(fixture *f, ggufx_sampler *chain, float temperature);
void add_look(fixture *f, ggufx_sampler *chain, seen *to);
ggufx_sampler *new_chain(fixture *f, uint32_t n_vocab, uint64_t seed);
int32_t sample(fixture *f, ggufx_sampler *chain, const float *logits, size_t n);

/* Fills logits with a spread as in models: -12 .. 12, most around 0. */
void fill_logits(float *out, size_t n, uint64_t seed);
/* Returns a pseudorandom number for i, a different one for each. */
uint64_t mixed(uint64_t i);

/* Appends a sampler of each kind, including DRY, penalties and logit biases: `which` of
 * CHAIN_KINDS. */
enum { MIROSTAT_1 = 10, MIROSTAT_2 = 13, CHAIN_KINDS = 14 };
ggufx_status add_example(ggufx_sampler *chain, uint32_t which, ggufx_error *error);

#endif
