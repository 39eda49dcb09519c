/*
 * Linear costs of generators: events that waited are polled; an output of four times the tokens is
 * replayed through the detokenizer and a stop string that it never completes.
 * SPDX-License-Identifier: MIT
 */
#include "cost.h"
#include "ok.h"
#include "tiny_model.h"

#include <ggufx/generator.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { kPrompt = 3 };

typedef struct work {
    ggufx_runtime *rt;
    ggufx_model *model;
    ggufx_session *session;
    ggufx_sampler *sampler;
    ggufx_generator *generator;
    int32_t id;
    size_t n;
} work;

/* Always draws the token of a letter. */
static ggufx_status choose(void *user, ggufx_candidate *candidates, size_t n) {
    const work *w = user;
    for (size_t i = 0; i < n; i++)
        candidates[i].logit = candidates[i].id == w->id ? 1.0f : -INFINITY;
    return GGUFX_OK;
}

static void make_session(work *w) {
    const ggufx_runtime_options runtime = {.struct_size = sizeof runtime, .threads = 1};
    const ggufx_session_options options = {.struct_size = sizeof options,
                                           .n_context = (uint32_t)w->n + kPrompt + 1};
    ggufx_file *file = NULL;
    ggufx_tokenizer *tokenizer = NULL;
    int32_t ids[8];
    size_t n = 0;
    unsigned char *data = tiny_model(&n, NULL);
    OK(ggufx_runtime_create(&w->rt, &runtime, ok_error()));
    OK(ggufx_open_memory(&file, w->rt, data, n, free, data, NULL, ok_error()));
    OK(ggufx_model_create(&w->model, w->rt, file, NULL, ok_error()));
    OK(ggufx_tokenizer_create(&tokenizer, file, ok_error()));
    OK(ggufx_tokenize(ids, 8, &n, tokenizer, "ea", 2, 0, ok_error()));
    w->id = ids[n - 1];
    ggufx_tokenizer_destroy(tokenizer);
    ggufx_file_destroy(file);
    OK(ggufx_session_create(&w->session, w->model, &options, ok_error()));
    OK(ggufx_sampler_create(&w->sampler, w->rt, TINY_VOCAB, 1, ok_error()));
    OK(ggufx_sampler_add_host(w->sampler, choose, w, ok_error()));
}

static void step(work *w) {
    const ggufx_step_item item = {.struct_size = sizeof item, .generator = w->generator};
    OK(ggufx_session_step(NULL, w->session, &item, 1, NULL, ok_error()));
}

/* Generates `size` letters; their events wait. The stop string is as long, and ends otherwise. */
static work *generate(size_t size, int has_stop) {
    static const int32_t prompt_ids[kPrompt] = {1, 7, 9};
    work *w = calloc(1, sizeof *w);
    char *text = malloc(size + 1);
    assert_non_null(w);
    assert_non_null(text);
    w->n = size;
    make_session(w);
    memset(text, 'a', size);
    text[size] = '!';
    const ggufx_text stop = {text, size + 1};
    const ggufx_generator_options options = {.struct_size = sizeof options,
                                             .sampler = w->sampler,
                                             .stops = &stop,
                                             .n_stops = has_stop ? 1 : 0};
    const ggufx_prompt prompt = {
        .struct_size = sizeof prompt, .tokens = prompt_ids, .n_tokens = kPrompt};
    OK(ggufx_generator_create(&w->generator, w->session, &options, ok_error()));
    OK(ggufx_generator_set_prompt(w->generator, &prompt, ok_error()));
    for (size_t i = 0; i < size; i++) step(w);
    free(text);
    return w;
}

static void *prepare_polls(size_t size) {
    return generate(size, 0);
}

static void poll_all(void *user) {
    work *w = user;
    ggufx_event event = {.struct_size = sizeof event};
    size_t n = 0;
    do {
        OK(ggufx_generator_poll(&event, w->generator, ok_error()));
        n += event.kind == GGUFX_EVENT_TEXT;
    } while (event.kind != GGUFX_EVENT_NONE);
    assert_int_equal(n, w->n);
}

static void *prepare_replay(size_t size) {
    return generate(size, 1);
}

static void replay(void *user) {
    work *w = user;
    OK(ggufx_generator_truncate(w->generator, w->n + kPrompt - 1, ok_error()));
    step(w);
}

static void finish(void *user) {
    work *w = user;
    ggufx_generator_destroy(w->generator);
    ggufx_sampler_destroy(w->sampler);
    ggufx_session_destroy(w->session);
    ggufx_model_destroy(w->model);
    ggufx_runtime_destroy(w->rt);
    free(w);
}

static const cost_case cases[] = {
    {"polls of events that waited", 1500, prepare_polls, poll_all, finish, 0},
    {"a replay through a stop string", 1500, prepare_replay, replay, finish, 0},
};

int main(void) {
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
