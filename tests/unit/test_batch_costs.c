/*
 * Linear costs: a call on four times the sequences, and on items of one sequence after many others.
 * SPDX-License-Identifier: MIT
 */
#include "cost.h"
#include "ok.h"
#include "tiny_model.h"

#include <stdlib.h>

typedef struct work {
    ggufx_runtime *rt;
    ggufx_file *file;
    ggufx_model *model;
    ggufx_session *session;
    ggufx_decode_item *items;
    size_t n;
} work;

static const int32_t tokens[2] = {1, 7};

static void *prepare(size_t size) {
    work *w = calloc(1, sizeof *w);
    ggufx_runtime_options runtime = {.struct_size = sizeof runtime};
    ggufx_session_options session = {.struct_size = sizeof session};
    assert_non_null(w);
    w->n = size;
    w->items = calloc(size, sizeof *w->items);
    assert_non_null(w->items);
    runtime.threads = 1;
    size_t n_bytes = 0;
    unsigned char *data = tiny_model(&n_bytes, NULL);
    OK(ggufx_runtime_create(&w->rt, &runtime, ok_error()));
    OK(ggufx_open_memory(&w->file, w->rt, data, n_bytes, free, data, NULL, ok_error()));
    OK(ggufx_model_create(&w->model, w->rt, w->file, NULL, ok_error()));
    session.n_sequences = (uint32_t)size;
    session.n_context = 8;
    OK(ggufx_session_create(&w->session, w->model, &session, ok_error()));
    for (size_t i = 0; i < size; i++) /* in no order */
        w->items[i] = (ggufx_decode_item){.struct_size = sizeof(ggufx_decode_item),
                                          .sequence = (uint32_t)((i * 77 + 5) % size),
                                          .tokens = tokens,
                                          .n_tokens = 1};
    return w;
}

static void decode(const work *w) {
    ggufx_decode_options options = {.struct_size = sizeof options};
    OK(ggufx_session_decode(w->session, w->items, w->n, &options, ok_error()));
}

/* Each sequence decodes a token, restarts as a copy of its neighbour, and decodes another one. */
static void run(void *user) {
    const work *w = user;
    decode(w);
    for (uint32_t i = 1; i < w->n; i += 2) {
        OK(ggufx_session_truncate(w->session, i, 0, ok_error()));
        OK(ggufx_session_copy(w->session, i - 1, i, 1, ok_error()));
    }
    decode(w);
}

static void finish(void *user) {
    work *w = user;
    ggufx_session_destroy(w->session);
    ggufx_model_destroy(w->model);
    ggufx_file_destroy(w->file);
    ggufx_runtime_destroy(w->rt);
    free(w->items);
    free(w);
}

int main(void) {
    static const cost_case cases[] = {{"sequences", 512, prepare, run, finish, 8192}};
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
