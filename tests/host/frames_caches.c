/*
 * KV caches: long appends, attention of one query over a long cache and of many queries over their
 * own tokens, conversion to other types.
 * SPDX-License-Identifier: MIT
 */
#include "../unit/kv_calls.h"
#include "frames.h"

#include <stdio.h>
#include <stdlib.h>

enum { kHeads = 4, kQueries = 16, kDim = 128, kRow = kHeads * kDim, kQueryRow = kQueries * kDim };

typedef struct cache {
    ggufx_kv *kv;
    const float *x;
    float *out;
    size_t n_tokens, n_q;
    uint32_t to;
} cache;

static ggufx_status append(void *user) {
    const cache *c = user;
    const ggufx_status status = ggufx_kv_truncate(c->kv, 0, 0, NULL);
    if (status != GGUFX_OK) return status;
    return kv_append_rows(c->kv, 0, 0, c->n_tokens, NULL, c->x, c->n_tokens * kRow, c->x,
                          c->n_tokens * kRow, NULL);
}

static ggufx_status attend(void *user) {
    const cache *c = user;
    return kv_attend_rows(c->out, c->n_q * kQueryRow, NULL, 0, c->kv, 0, 0, c->x,
                          c->n_q * kQueryRow, c->n_q, NULL, NULL, NULL);
}

static ggufx_status requantize(void *user) {
    const cache *c = user;
    const ggufx_status status = append(user);
    if (status != GGUFX_OK) return status;
    return ggufx_kv_requantize(c->kv, 0, c->to, c->to, NULL, NULL);
}

static void check_cache(frames *f, cache *c, const char *type) {
    char name[64];
    snprintf(name, sizeof name, "append %s", type);
    frames_check(f, name, append, c);
    for (c->n_q = 1; c->n_q <= 64; c->n_q *= 64) {
        snprintf(name, sizeof name, "attend %s, %zu queries", type, c->n_q);
        frames_check(f, name, attend, c);
    }
    snprintf(name, sizeof name, "requantize %s", type);
    frames_check(f, name, requantize, c);
}

void frames_of_caches(frames *f, const ggufx_runtime *rt) {
    cache c = {.n_tokens = 4096};
    float *x = malloc(sizeof *x * c.n_tokens * kRow);
    c.out = malloc(sizeof *c.out * 64 * kQueryRow);
    if (!x || !c.out) exit(1);
    frames_fill(x, c.n_tokens * kRow);
    c.x = x;
    for (uint32_t id = 0; id <= GGUFX_TYPE_GX4; id++) {
        ggufx_type_facts type = {.struct_size = sizeof type};
        ggufx_kv_options options = {.struct_size = sizeof options};
        if (ggufx_type_info(&type, id, NULL) != GGUFX_OK || !(type.flags & GGUFX_TYPE_IN_CACHES))
            continue;
        options.n_layers = 1;
        options.n_kv_heads = kHeads;
        options.n_q_heads = kQueries;
        options.head_dim_k = kDim;
        options.type_k = options.type_v = id;
        options.flags = GGUFX_KV_HAS_TYPE_K | GGUFX_KV_HAS_TYPE_V;
        if (id == GGUFX_TYPE_TQ3_0) options.flags |= GGUFX_KV_FIT_TQ3_0;
        c.to = id == GGUFX_TYPE_GX4 ? GGUFX_TYPE_Q8_0 : GGUFX_TYPE_GX4;
        if (ggufx_kv_create(&c.kv, rt, &options, NULL) != GGUFX_OK) exit(1);
        check_cache(f, &c, type.name);
        ggufx_kv_destroy(c.kv);
    }
    free(x);
    free(c.out);
}
