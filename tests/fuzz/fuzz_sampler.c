/*
 * Fuzz target: sampler chains with any parameters, logits of any bits, accepted tokens, and a
 * clone. The sampled token has a finite logit, and the clone samples the same token.
 * SPDX-License-Identifier: MIT
 */
#include "chat_main.h"

#include <ggufx/ggufx.h>

#include <stdlib.h>
#include <string.h>

const char *const chat_seeds[] = {
    "\x01\x05 aaaabbbbccccddddeeeeffffgggg",
    "\x02 \x3f\x33\x03\x3f\x4c\x06\x3f zzzyyyxxxwwwvvv",
    "\x09 0123456789012345678901234567890123456789",
    "\x08\x07\x04 abcabcabcabcabcabcabcabc",
    "\x0b\x02 mirostat mirostat mirostat",
    "\x0a biases biases biases biases biases biases",
    NULL,
};
const char chat_seed_end[] = "";
const size_t chat_seed_end_length = 0;

enum { V = 97 };

typedef struct input {
    const uint8_t *data;
    size_t n;
} input;

static uint32_t byte(input *in) {
    if (in->n == 0) return 0;
    in->n--;
    return *in->data++;
}

/* Mostly a valid parameter, sometimes any bits. */
static float number(input *in) {
    static const float known[8] = {0.0f, 0.05f, 0.5f, 0.9f, 1.0f, 1.75f, 3.0f, 1e6f};
    const uint32_t which = byte(in);
    uint32_t bits = 0;
    float out;
    if (which < 240) return known[which % 8];
    for (int i = 0; i < 4; i++) bits = bits << 8 | byte(in);
    memcpy(&out, &bits, sizeof out);
    return out;
}

static ggufx_status turn(void *user, ggufx_candidate *c, size_t n) {
    const uint32_t how = *(const uint32_t *)user;
    for (size_t i = 1; i < n; i += 1 + how % 7) c[i].logit = how & 8 ? -c[i].logit : -1.0f / 0.0f;
    if (n && how & 16) c[0].id = (int32_t)how;
    return GGUFX_OK;
}

enum kind {
#define FILTER1(id, ID, Type, name, order, type, a, example) KIND_##ID,
#define FILTER2(id, ID, Type, name, order, type, a, b, example_a, example_b) KIND_##ID,
#include "../../src/sampling/samplers.def"
    KIND_TEMPERATURE,
    KIND_PENALTIES,
    KIND_DRY,
    KIND_LOGIT_BIAS,
    KIND_MIROSTAT,
    KIND_HOST,
    N_KINDS
};

static ggufx_status add(ggufx_sampler *chain, input *in, uint32_t *how, ggufx_error *error) {
    ggufx_temperature_options dynamic = {.struct_size = sizeof dynamic};
    ggufx_penalty_options penalties = {.struct_size = sizeof penalties};
    ggufx_dry_options dry = {.struct_size = sizeof dry};
    ggufx_mirostat_options mirostat = {.struct_size = sizeof mirostat};
    ggufx_logit_bias biases[3];
    int32_t breaker;
    float first;
    switch (byte(in) % N_KINDS) {
#define uint32_t_OF(in) byte(in)
#define float_OF(in) number(in)
#define FILTER1(id, ID, Type, name, order, type, a, example)                                       \
    case KIND_##ID:                                                                                \
        return ggufx_sampler_add_##id(chain, type##_OF(in), error);
#define FILTER2(id, ID, Type, name, order, type, a, b, example_a, example_b)                       \
    case KIND_##ID:                                                                                \
        first = number(in);                                                                        \
        return ggufx_sampler_add_##id(chain, first, number(in), error);
#include "../../src/sampling/samplers.def"
    case KIND_TEMPERATURE:
        first = number(in);
        dynamic.range = number(in);
        dynamic.exponent = number(in);
        return ggufx_sampler_add_temperature(chain, first, &dynamic, error);
    case KIND_PENALTIES:
        penalties.repeat = number(in);
        penalties.frequency = number(in);
        penalties.presence = number(in);
        penalties.last_n = byte(in);
        return ggufx_sampler_add_penalties(chain, &penalties, error);
    case KIND_DRY:
        dry.multiplier = number(in);
        dry.base = number(in);
        dry.allowed_length = byte(in) % 4;
        dry.last_n = byte(in);
        breaker = (int32_t)byte(in);
        dry.sequence_breakers = &breaker;
        dry.n_sequence_breakers = 1;
        return ggufx_sampler_add_dry(chain, &dry, error);
    case KIND_LOGIT_BIAS:
        for (int i = 0; i < 3; i++) {
            biases[i].id = (int32_t)(byte(in) % (V + 1));
            biases[i].bias = number(in);
        }
        return ggufx_sampler_add_logit_bias(chain, biases, 3, error);
    case KIND_MIROSTAT:
        mirostat.version = 1 + byte(in) % 2;
        mirostat.tau = number(in);
        mirostat.eta = number(in);
        return ggufx_sampler_add_mirostat(chain, &mirostat, error);
    default:
        *how = byte(in);
        return ggufx_sampler_add_host(chain, turn, how, error);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ggufx_runtime *rt;
    input in = {data, size};
    ggufx_sampler *chain = NULL, *clone = NULL;
    uint32_t how[8] = {0};
    if (!rt && ggufx_runtime_create(&rt, NULL, NULL) != GGUFX_OK) abort();
    if (ggufx_sampler_create(&chain, rt, V, size, NULL) != GGUFX_OK) abort();
    for (uint32_t i = 0, n = 1 + byte(&in) % 7; i < n; i++) {
        ggufx_error error = {0};
        if (add(chain, &in, how + i, &error) != GGUFX_OK &&
            (!error.message[0] || error.status == GGUFX_E_INTERNAL))
            abort();
    }
    for (int step = 0; step < 24; step++) {
        float logits[V], logprob = 0;
        int32_t id = -1, other = -1;
        ggufx_error error = {0};
        for (int i = 0; i < V; i++) logits[i] = number(&in) + (float)((i * 31 + step) % 17) * 0.25f;
        if (step == 5 && ggufx_sampler_clone(&clone, chain, NULL) != GGUFX_OK) abort();
        const ggufx_status status =
            ggufx_sampler_sample(&id, &logprob, chain, NULL, logits, V, &error);
        if (clone && ggufx_sampler_sample(&other, NULL, clone, NULL, logits, V, NULL) != status)
            abort();
        if (status != GGUFX_OK) {
            if (status != GGUFX_E_VALUE || !error.message[0]) abort();
            continue;
        }
        if (id < 0 || id >= V || !(logits[id] - logits[id] == 0) || !(logprob <= 1e-5f)) abort();
        if (clone && id != other) abort();
        const int32_t next = byte(&in) % 3 ? id : (int32_t)(byte(&in) % V);
        if (ggufx_sampler_accept(chain, &next, 1, NULL) != GGUFX_OK) abort();
        if (clone && ggufx_sampler_accept(clone, &next, 1, NULL) != GGUFX_OK) abort();
    }
    ggufx_sampler_destroy(clone);
    ggufx_sampler_destroy(chain);
    return 0;
}
