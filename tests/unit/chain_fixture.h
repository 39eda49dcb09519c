/*
 * Chains of samplers, and what is left behind a link, seen by a link of the host.
 * SPDX-License-Identifier: MIT
 */
#ifndef CHAIN_FIXTURE_H
#define CHAIN_FIXTURE_H

#include "model_fixture.h"

enum { MOST = 3000 };

/* What a link of the host sees. */
typedef struct seen {
    size_t n;
    ggufx_candidate at[MOST];
    int32_t result; /* what the link gives */
} seen;
int32_t look(void *user, ggufx_candidate *candidates, size_t n);

ggufx_sampler_link link_of(uint32_t kind);
/* Put a link, or one that looks, behind the others. */
void add(fixture *f, ggufx_sampler *chain, const ggufx_sampler_link *link);
void add_look(fixture *f, ggufx_sampler *chain, seen *to);
ggufx_sampler *new_chain(fixture *f, uint32_t n_vocab, uint64_t seed);
int32_t sample(fixture *f, ggufx_sampler *chain, const float *logits, size_t n);

/* Logits of about the spread that models have: -12 .. 12, most around 0. */
void fill_logits(float *out, size_t n, uint64_t seed);
/* A number that looks random, another one for every i. */
uint64_t mixed(uint64_t i);

/* One of each kind, DRY, penalties and biases among them: `which` of CHAIN_KINDS. */
enum { CHAIN_KINDS = 14 };
ggufx_sampler_link example(uint32_t which);

#endif
