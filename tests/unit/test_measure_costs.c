/*
 * Linear costs: four times as many saved and compared chunks, added rows and continuations take
 * four times as long. Quantiles do not scan all predictions for each one.
 * SPDX-License-Identifier: MIT
 */
#include "cost.h"
#include "ok.h"
#include "tiny_model.h"

#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 16, ENDING = 2 };

typedef struct work {
    ggufx_runtime *rt;
    ggufx_file *file;
    ggufx_model *model;
    ggufx_session *session;
    int32_t *tokens;
    size_t n, n_saved, n_read, n_room;
    unsigned char *saved;
    ggufx_token_list *lists;
    double *sums;
    ggufx_eval_row *rows; /* [n] */
} work;

static void *prepare(size_t size) {
    work *w = calloc(1, sizeof *w);
    ggufx_runtime_options runtime = {.struct_size = sizeof runtime};
    ggufx_session_options session = {.struct_size = sizeof session};
    assert_non_null(w);
    runtime.threads = 1;
    size_t n_bytes = 0;
    unsigned char *data = tiny_model(&n_bytes, NULL);
    OK(ggufx_runtime_create(&w->rt, &runtime, ok_error()));
    OK(ggufx_open_memory(&w->file, w->rt, data, n_bytes, free, data, NULL, ok_error()));
    OK(ggufx_model_create(&w->model, w->rt, w->file, NULL, ok_error()));
    session.n_context = CONTEXT;
    OK(ggufx_session_create(&w->session, w->model, &session, ok_error()));
    w->n = size * CONTEXT;
    w->tokens = calloc(w->n, sizeof *w->tokens);
    w->lists = calloc(size, sizeof *w->lists);
    w->sums = calloc(size, sizeof *w->sums);
    w->rows = calloc(w->n, sizeof *w->rows);
    assert_true(w->tokens && w->lists && w->sums && w->rows);
    for (size_t i = 0; i < w->n; i++) {
        w->rows[i].loss = w->rows[i].reference_loss = 1;
        w->rows[i].kl_divergence = 1 / (double)(scrambled(i) % 1000 + 1);
    }
    for (size_t i = 0; i < w->n; i++) w->tokens[i] = (int32_t)(scrambled(i) % 7 + 1);
    for (size_t i = 0; i < size; i++)
        w->lists[i] = (ggufx_token_list){w->tokens + i * ENDING, ENDING};
    return w;
}

static ggufx_status keep(void *user, const void *data, size_t n) {
    work *w = user;
    if (w->n_saved + n > w->n_room) {
        w->n_room = 2 * (w->n_saved + n);
        w->saved = realloc(w->saved, w->n_room);
        if (!w->saved) return GGUFX_E_MEMORY;
    }
    memcpy(w->saved + w->n_saved, data, n);
    w->n_saved += n;
    return GGUFX_OK;
}
static ggufx_status give(void *user, void *data, size_t n) {
    work *w = user;
    if (n > w->n_saved - w->n_read) return GGUFX_E_TRUNCATED;
    memcpy(data, w->saved + w->n_read, n);
    w->n_read += n;
    return GGUFX_OK;
}

static void measure(void *user) {
    work *w = user;
    ggufx_eval_options options = {.struct_size = sizeof options};
    ggufx_eval_facts facts = {.struct_size = sizeof facts};
    options.write = keep;
    options.write_user = w;
    OK(ggufx_eval_perplexity(&facts, w->session, w->tokens, w->n, CONTEXT, -1, &options,
                             ok_error()));
    options = (ggufx_eval_options){.struct_size = sizeof(ggufx_eval_options)};
    options.read = give;
    options.read_user = w;
    OK(ggufx_eval_perplexity(&facts, w->session, w->tokens, w->n, CONTEXT, -1, &options,
                             ok_error()));
    assert_int_equal(facts.n_chunks, w->n / CONTEXT);
    assert_true(facts.kl < 1e-6 && facts.same_top_token > 0.99);
}

static void endings(void *user) {
    const work *w = user;
    OK(ggufx_eval_continuations(w->sums, w->session, w->tokens, 8, w->lists, w->n / CONTEXT, NULL,
                                ok_error()));
}

static void total(void *user) {
    const work *w = user;
    ggufx_eval_facts facts = {.struct_size = sizeof facts};
    OK(ggufx_eval_merge(&facts, w->rt, w->rows, w->n, 1, CONTEXT, GGUFX_EVAL_COMPARED, ok_error()));
}

static void finish(void *user) {
    work *w = user;
    ggufx_session_destroy(w->session);
    ggufx_model_destroy(w->model);
    ggufx_file_destroy(w->file);
    ggufx_runtime_destroy(w->rt);
    free(w->tokens);
    free(w->lists);
    free(w->sums);
    free(w->rows);
    free(w->saved);
    free(w);
}

int main(void) {
    static const cost_case cases[] = {{"chunks", 512, prepare, measure, finish, 1024},
                                      {"endings", 512, prepare, endings, finish, 1024},
                                      {"rows", 16384, prepare, total, finish, 1024}};
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
