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

static int32_t turn(void *user, ggufx_candidate *c, size_t n) {
    const uint32_t how = *(const uint32_t *)user;
    for (size_t i = 1; i < n; i += 1 + how % 7) c[i].logit = how & 8 ? -c[i].logit : -1.0f / 0.0f;
    if (n && how & 16) c[0].id = (int32_t)how;
    return 0;
}

static void fill_link(ggufx_sampler_link *link, input *in, int32_t *ids, ggufx_logit_bias *biases,
                      uint32_t *how) {
    *link = (ggufx_sampler_link){.struct_size = sizeof(ggufx_sampler_link)};
    link->kind = byte(in) % 14;
    switch (link->kind) {
    case GGUFX_LINK_TOP_K:
        link->k = byte(in);
        break;
    case GGUFX_LINK_TOP_P:
    case GGUFX_LINK_MIN_P:
    case GGUFX_LINK_TYPICAL:
        link->p = number(in);
        break;
    case GGUFX_LINK_TOP_N_SIGMA:
        link->n_sigma = number(in);
        break;
    case GGUFX_LINK_XTC:
        link->probability = number(in);
        link->threshold = number(in);
        break;
    case GGUFX_LINK_TEMPERATURE:
        link->temperature = number(in);
        link->range = number(in);
        link->exponent = number(in);
        break;
    case GGUFX_LINK_PENALTIES:
        link->repetition = number(in);
        link->frequency = number(in);
        link->presence = number(in);
        link->n_last = byte(in);
        break;
    case GGUFX_LINK_DRY:
        link->multiplier = number(in);
        link->base = number(in);
        link->allowed_length = byte(in) % 4;
        link->n_last = byte(in);
        ids[0] = (int32_t)byte(in);
        link->breakers = ids;
        link->n_breakers = 1;
        break;
    case GGUFX_LINK_BIAS:
        for (int i = 0; i < 3; i++)
            biases[i] = (ggufx_logit_bias){(int32_t)(byte(in) % (V + 1)), number(in)};
        link->biases = biases;
        link->n_biases = 3;
        break;
    case GGUFX_LINK_MIROSTAT:
        link->version = 1 + byte(in) % 2;
        link->tau = number(in);
        link->eta = number(in);
        break;
    default:
        *how = byte(in);
        link->link = turn;
        link->user = how;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static ggufx_runtime *rt;
    input in = {data, size};
    ggufx_sampler *chain = NULL, *clone = NULL;
    uint32_t how[8] = {0};
    if (!rt && ggufx_runtime_create(&rt, NULL, NULL) != GGUFX_OK) abort();
    if (ggufx_sampler_create_chain(&chain, rt, V, size, NULL) != GGUFX_OK) abort();
    for (uint32_t i = 0, n = 1 + byte(&in) % 7; i < n; i++) {
        ggufx_sampler_link link;
        ggufx_error error = {0};
        int32_t ids[1];
        ggufx_logit_bias biases[3];
        fill_link(&link, &in, ids, biases, how + i);
        if (ggufx_sampler_add(chain, &link, &error) != GGUFX_OK &&
            (!error.message[0] || error.status == GGUFX_E_INTERNAL))
            abort();
    }
    for (int step = 0; step < 24; step++) {
        float logits[V], logprob = 0;
        int32_t id = -1, other = -1;
        ggufx_error error = {0};
        for (int i = 0; i < V; i++) logits[i] = number(&in) + (float)((i * 31 + step) % 17) * 0.25f;
        if (step == 5 && ggufx_sampler_clone(&clone, chain, NULL) != GGUFX_OK) abort();
        const ggufx_status status = ggufx_sampler_sample(&id, &logprob, chain, logits, V, &error);
        if (clone && ggufx_sampler_sample(&other, NULL, clone, logits, V, NULL) != status) abort();
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
