/*
 * Implementation of chain_fixture.h.
 * SPDX-License-Identifier: MIT
 */
#include "chain_fixture.h"

#include <string.h>

ggufx_status look(void *user, ggufx_candidate *candidates, size_t n) {
    seen *to = user;
    to->n = n;
    if (n <= MOST) memcpy(to->at, candidates, n * sizeof *candidates);
    return to->result;
}

void add_filter(fixture *f, ggufx_sampler *chain, filter added) {
    switch (added.kind) {
#define FILTER1(id, ID, Type, name, order, type, number, example)                                  \
    case GGUFX_SAMPLER_##ID:                                                                       \
        MUST(f, ggufx_sampler_add_##id(chain, (type)added.a, &f->error));                          \
        break;
#define FILTER2(id, ID, Type, name, order, type, first, second, example_a, example_b)              \
    case GGUFX_SAMPLER_##ID:                                                                       \
        MUST(f, ggufx_sampler_add_##id(chain, added.a, added.b, &f->error));                       \
        break;
#include "../../src/sampling/samplers.def"
    default:
        fail_msg("kind %u is not a filter", added.kind);
    }
}

void add_temperature(fixture *f, ggufx_sampler *chain, float temperature) {
    MUST(f, ggufx_sampler_add_temperature(chain, temperature, NULL, &f->error));
}

void add_look(fixture *f, ggufx_sampler *chain, seen *to) {
    to->result = GGUFX_OK;
    MUST(f, ggufx_sampler_add_host(chain, look, to, &f->error));
}

ggufx_sampler *new_chain(fixture *f, uint32_t n_vocab, uint64_t seed) {
    ggufx_sampler *chain = NULL;
    MUST(f, ggufx_sampler_create(&chain, f->rt, n_vocab, seed, &f->error));
    return chain;
}

int32_t sample(fixture *f, ggufx_sampler *chain, const float *logits, size_t n) {
    int32_t id = -1;
    MUST(f, ggufx_sampler_sample(&id, NULL, chain, NULL, logits, n, &f->error));
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

ggufx_status add_example(ggufx_sampler *chain, uint32_t which, ggufx_error *error) {
    static const ggufx_logit_bias biases[3] = {{7, 2.5f}, {3, -1.25f}, {40, 1.0f}};
    static const int32_t breakers[2] = {11, 12};
    const ggufx_penalty_options penalties = {.struct_size = sizeof penalties,
                                             .repeat = 1.2f,
                                             .frequency = 0.3f,
                                             .presence = 0.5f,
                                             .last_n = 64};
    const ggufx_dry_options dry = {.struct_size = sizeof dry,
                                   .multiplier = 0.8f,
                                   .last_n = 256,
                                   .sequence_breakers = breakers,
                                   .n_sequence_breakers = 2};
    const ggufx_temperature_options dynamic = {
        .struct_size = sizeof dynamic, .range = 0.5f, .exponent = 1.3f};
    const ggufx_mirostat_options first = {
        .struct_size = sizeof first, .version = 1, .m = 50, .tau = 3};
    const ggufx_mirostat_options second = {.struct_size = sizeof second, .tau = 4, .eta = 0.2f};
    switch (which) {
    case 0:
        return ggufx_sampler_add_top_k(chain, 30, error);
    case 1:
        return ggufx_sampler_add_top_p(chain, 0.8f, error);
    case 2:
        return ggufx_sampler_add_min_p(chain, 0.02f, error);
    case 3:
        return ggufx_sampler_add_typical(chain, 0.7f, error);
    case 4:
        return ggufx_sampler_add_top_n_sigma(chain, 1.5f, error);
    case 5:
        return ggufx_sampler_add_xtc(chain, 0.6f, 0.02f, error);
    case 6:
        return ggufx_sampler_add_temperature(chain, 0.7f, NULL, error);
    case 7:
        return ggufx_sampler_add_penalties(chain, &penalties, error);
    case 8:
        return ggufx_sampler_add_dry(chain, &dry, error);
    case 9:
        return ggufx_sampler_add_logit_bias(chain, biases, 3, error);
    case MIROSTAT_1:
        return ggufx_sampler_add_mirostat(chain, &first, error);
    case 11:
        return ggufx_sampler_add_top_p(chain, 0.95f, error);
    case 12:
        return ggufx_sampler_add_temperature(chain, 0.8f, &dynamic, error);
    default:
        return ggufx_sampler_add_mirostat(chain, &second, error);
    }
}
