/*
 * Cost of samplers at 1 x and 4 x the size: vocabulary, window.
 * SPDX-License-Identifier: MIT
 */
#include "cost.h"
#include "ok.h"

#include <stdlib.h>
#include <string.h>

typedef struct job {
    ggufx_sampler *chain;
    float *logits;
    size_t n;
} job;

static void add(job *j, ggufx_sampler_link link) {
    OK(ggufx_sampler_add(j->chain, &link, ok_error()));
}

/* Equal logits, or descending or ascending steps: hard cases of sorting and selection. */
static job *vocabulary(size_t n, int steps) {
    job *j = calloc(1, sizeof *j);
    j->n = n;
    j->logits = malloc(n * sizeof *j->logits);
    for (size_t i = 0; i < n; i++)
        j->logits[i] = steps ? (float)i * 1e-5f : (float)(scrambled(i) % 1000) * 0.001f;
    OK(ggufx_sampler_create_chain(&j->chain, rt, (uint32_t)n, 1, ok_error()));
    return j;
}

static ggufx_sampler_link of(uint32_t kind, float p) {
    ggufx_sampler_link link = {.struct_size = sizeof link};
    link.kind = kind;
    link.p = p;
    return link;
}

static void *flat(size_t n) { /* top-p and typical keep most of nearly equal tokens */
    job *j = vocabulary(n, 0);
    add(j, of(GGUFX_LINK_TOP_P, 0.9f));
    add(j, of(GGUFX_LINK_TYPICAL, 0.9f));
    return j;
}

static void *ascending(size_t n) { /* each one is likelier than all before */
    job *j = vocabulary(n, 1);
    ggufx_sampler_link link = of(GGUFX_LINK_TOP_K, 0);
    link.k = 200;
    add(j, link);
    return j;
}

static void *all_alike(size_t n) {
    job *j = vocabulary(n, 0);
    memset(j->logits, 0, n * sizeof *j->logits);
    add(j, of(GGUFX_LINK_MIN_P, 0.5f));
    return j;
}

static void draw(void *work) {
    job *j = work;
    int32_t id = 0;
    for (int i = 0; i < 4; i++)
        OK(ggufx_sampler_sample(&id, NULL, j->chain, j->logits, j->n, ok_error()));
}

/* A window of one repeated token, which has the longest matches. */
static void *repeats(size_t n) {
    job *j = calloc(1, sizeof *j);
    ggufx_sampler_link link = of(GGUFX_LINK_DRY, 0);
    const int32_t id = 3;
    j->n = 8;
    j->logits = calloc(8, sizeof *j->logits);
    OK(ggufx_sampler_create_chain(&j->chain, rt, 8, 1, ok_error()));
    link.multiplier = 0.5f;
    link.n_last = (uint32_t)n;
    add(j, link);
    for (size_t i = 0; i < n; i++) OK(ggufx_sampler_accept(j->chain, &id, 1, ok_error()));
    return j;
}

static void finish(void *work) {
    job *j = work;
    ggufx_sampler_destroy(j->chain);
    free(j->logits);
    free(j);
}

int main(void) {
    static const cost_case cases[] = {
        {.name = "flat", .size = 100000, .prepare = flat, .run = draw, .finish = finish},
        {.name = "ascending", .size = 400000, .prepare = ascending, .run = draw, .finish = finish},
        {.name = "alike", .size = 100000, .prepare = all_alike, .run = draw, .finish = finish},
        {.name = "repeats", .size = 100000, .prepare = repeats, .run = draw, .finish = finish},
    };
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
