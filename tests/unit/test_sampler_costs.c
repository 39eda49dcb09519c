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

/* Equal logits, or descending or ascending steps: hard cases of sorting and selection. */
static job *vocabulary(size_t n, int steps) {
    job *j = calloc(1, sizeof *j);
    j->n = n;
    j->logits = malloc(n * sizeof *j->logits);
    for (size_t i = 0; i < n; i++)
        j->logits[i] = steps ? (float)i * 1e-5f : (float)(scrambled(i) % 1000) * 0.001f;
    OK(ggufx_sampler_create(&j->chain, rt, (uint32_t)n, 1, ok_error()));
    return j;
}

static void *flat(size_t n) { /* top-p and typical keep most of nearly equal tokens */
    job *j = vocabulary(n, 0);
    OK(ggufx_sampler_add_top_p(j->chain, 0.9f, ok_error()));
    OK(ggufx_sampler_add_typical(j->chain, 0.9f, ok_error()));
    return j;
}

static void *ascending(size_t n) { /* each one is likelier than all before */
    job *j = vocabulary(n, 1);
    OK(ggufx_sampler_add_top_k(j->chain, 200, ok_error()));
    return j;
}

static void *all_alike(size_t n) {
    job *j = vocabulary(n, 0);
    memset(j->logits, 0, n * sizeof *j->logits);
    OK(ggufx_sampler_add_min_p(j->chain, 0.5f, ok_error()));
    return j;
}

static void draw(void *work) {
    job *j = work;
    int32_t id = 0;
    for (int i = 0; i < 4; i++)
        OK(ggufx_sampler_sample(&id, NULL, j->chain, NULL, j->logits, j->n, ok_error()));
}

/* A window of one repeated token, which has the longest matches. */
static void *repeats(size_t n) {
    job *j = calloc(1, sizeof *j);
    const ggufx_dry_options dry = {
        .struct_size = sizeof dry, .multiplier = 0.5f, .last_n = (uint32_t)n};
    const int32_t id = 3;
    j->n = 8;
    j->logits = calloc(8, sizeof *j->logits);
    OK(ggufx_sampler_create(&j->chain, rt, 8, 1, ok_error()));
    OK(ggufx_sampler_add_dry(j->chain, &dry, ok_error()));
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
