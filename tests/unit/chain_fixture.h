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
    int32_t result; /* status returned by the custom sampler */
} seen;
int32_t look(void *user, ggufx_candidate *candidates, size_t n);

ggufx_sampler_link link_of(uint32_t kind);
/* Appends a sampler, or one that records, to the chain. */
void add(fixture *f, ggufx_sampler *chain, const ggufx_sampler_link *link);
void add_look(fixture *f, ggufx_sampler *chain, seen *to);
ggufx_sampler *new_chain(fixture *f, uint32_t n_vocab, uint64_t seed);
int32_t sample(fixture *f, ggufx_sampler *chain, const float *logits, size_t n);

/* Fills logits with a spread as in models: -12 .. 12, most around 0. */
void fill_logits(float *out, size_t n, uint64_t seed);
/* Returns a pseudorandom number for i, a different one for each. */
uint64_t mixed(uint64_t i);

/* Returns a sampler of each kind, including DRY, penalties and logit biases: `which` of
 * CHAIN_KINDS. */
enum { CHAIN_KINDS = 14 };
ggufx_sampler_link example(uint32_t which);

#endif
