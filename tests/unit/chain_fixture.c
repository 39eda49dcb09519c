/*
 * Implementation of chain_fixture.h.
 * SPDX-License-Identifier: MIT
 */
#include "chain_fixture.h"

#include <string.h>

int32_t look(void *user, ggufx_candidate *candidates, size_t n) {
    seen *to = user;
    to->n = n;
    if (n <= MOST) memcpy(to->at, candidates, n * sizeof *candidates);
    return to->result;
}

ggufx_sampler_link link_of(uint32_t kind) {
    ggufx_sampler_link link = {.struct_size = sizeof link};
    link.kind = kind;
    return link;
}

void add(fixture *f, ggufx_sampler *chain, const ggufx_sampler_link *link) {
    MUST(f, ggufx_sampler_add(chain, link, &f->error));
}

void add_look(fixture *f, ggufx_sampler *chain, seen *to) {
    ggufx_sampler_link link = link_of(GGUFX_LINK_HOST);
    link.link = look;
    link.user = to;
    to->result = 0;
    add(f, chain, &link);
}

ggufx_sampler *new_chain(fixture *f, uint32_t n_vocab, uint64_t seed) {
    ggufx_sampler *chain = NULL;
    MUST(f, ggufx_sampler_create_chain(&chain, f->rt, n_vocab, seed, &f->error));
    return chain;
}

int32_t sample(fixture *f, ggufx_sampler *chain, const float *logits, size_t n) {
    int32_t id = -1;
    MUST(f, ggufx_sampler_sample(&id, NULL, chain, logits, n, &f->error));
    return id;
}

uint64_t mixed(uint64_t i) {
    uint64_t z = i * 0x9e3779b97f4a7c15u + 0x632be59bd9b4e019u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

void fill_logits(float *out, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        uint64_t z = mixed(seed * 1000003u + i);
        float sum = 0;
        for (int part = 0; part < 4; part++, z >>= 16) sum += (float)(z & 0xffff) / 65536.0f - 0.5f;
        out[i] = 6.0f * sum;
    }
}

ggufx_sampler_link example(uint32_t which) {
    static const ggufx_logit_bias biases[3] = {{7, 2.5f}, {3, -1.25f}, {40, 1.0f}};
    static const int32_t breakers[2] = {11, 12};
    ggufx_sampler_link link = link_of(which < 12    ? which + 1
                                      : which == 12 ? GGUFX_LINK_TEMPERATURE
                                                    : GGUFX_LINK_MIROSTAT);
    switch (which + 1) {
    case GGUFX_LINK_TOP_K:
        link.k = 30;
        break;
    case GGUFX_LINK_TOP_P:
        link.p = 0.8f;
        break;
    case GGUFX_LINK_MIN_P:
        link.p = 0.02f;
        break;
    case GGUFX_LINK_TYPICAL:
        link.p = 0.7f;
        break;
    case GGUFX_LINK_TOP_N_SIGMA:
        link.n_sigma = 1.5f;
        break;
    case GGUFX_LINK_XTC:
        link.probability = 0.6f;
        link.threshold = 0.02f;
        break;
    case GGUFX_LINK_TEMPERATURE:
        link.temperature = 0.7f;
        break;
    case GGUFX_LINK_PENALTIES:
        link.n_last = 64;
        link.repetition = 1.2f;
        link.frequency = 0.3f;
        link.presence = 0.5f;
        break;
    case GGUFX_LINK_DRY:
        link.n_last = 256;
        link.multiplier = 0.8f;
        link.breakers = breakers;
        link.n_breakers = 2;
        break;
    case GGUFX_LINK_BIAS:
        link.biases = biases;
        link.n_biases = 3;
        break;
    case GGUFX_LINK_MIROSTAT:
        link.version = 1;
        link.m = 50;
        link.tau = 3;
        break;
    case GGUFX_LINK_HOST:
        link = link_of(GGUFX_LINK_TOP_P);
        link.p = 0.95f;
        break;
    case 13:
        link.temperature = 0.8f;
        link.range = 0.5f;
        link.exponent = 1.3f;
        break;
    default:
        link.version = 2;
        link.tau = 4;
        link.eta = 0.2f;
        break;
    }
    return link;
}
