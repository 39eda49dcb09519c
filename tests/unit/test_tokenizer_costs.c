/*
 * Cost of hostile vocabularies and texts: texts with hash collisions, tokens nested at every
 * position of a text, merges over one letter.
 * SPDX-License-Identifier: MIT
 */
#include "../text_of.h"
#include "ok.h"
#include "vocab_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    vocab v;
    char *text;
    int32_t *ids;
    size_t n;
} job;

/* The part of the library's text hash (src/base/text_index.hpp) that selects the slot. */
static uint64_t hash_of(const char *text) {
    uint64_t h = 0xcbf29ce484222325u;
    for (; *text; text++) h = (h ^ (uint8_t)*text) * 0x100000001b3u;
    return (h ^ (h >> 29)) * 0x9e3779b97f4a7c15u >> 16;
}

/* n tokens whose slots are all in one of 256 parts of the table. */
static void *colliding(size_t n) {
    job *j = calloc(1, sizeof *j);
    vocab_token *tokens = calloc(n, sizeof *tokens);
    char *texts = malloc(16 * n);
    size_t places = 16, at = 0;
    while (places < 2 * n) places *= 2;
    for (uint64_t k = 0; at < n; k++) {
        char *text = texts + 16 * at;
        const int length = snprintf(text, 16, "%llx", (unsigned long long)k);
        if ((hash_of(text) & (places - 1)) >= places / 256) continue;
        tokens[at++] = (vocab_token){text, (size_t)length, 0, 1};
    }
    j->v.file = vocab_file(tokens, n);
    free(texts);
    free(tokens);
    return j;
}

static void create(void *work) {
    job *j = work;
    OK(ggufx_tokenizer_create(&j->v.tokenizer, j->v.file, ok_error()));
}

enum { NESTED = 400 };
static char many_a[NESTED];

/* Tokens a, aa, ... with the same kind; a longer one has a higher score. A text of n letters a. */
static void *nested(size_t n, int32_t kind) {
    job *j = calloc(1, sizeof *j);
    vocab_token tokens[NESTED];
    memset(many_a, 'a', NESTED);
    for (size_t i = 0; i < NESTED; i++)
        tokens[i] = (vocab_token){many_a, i + 1, (float)i, i ? kind : 1};
    tokens[NESTED - 1] = (vocab_token){"b", 1, 0, 1};
    j->v = open_vocab(tokens, NESTED);
    j->n = n;
    j->text = malloc(n);
    j->ids = malloc(n * sizeof *j->ids);
    memset(j->text, 'a', n);
    return j;
}

static void *nested_whole(size_t n) {
    return nested(n, 4);
}

static void *nested_normal(size_t n) {
    return nested(n, 1);
}

/* As nested_whole, in runs longer than any token, so that every claimed token leaves positions to
 * retry. */
static void *nested_in_runs(size_t n) {
    job *j = nested(n, 4);
    for (size_t i = 0; i < n; i += 3 * NESTED / 2 + 1) j->text[i] = 'b';
    return j;
}

/* Nested control tokens; the text's runs alternate between the user's and the template's. */
static void *nested_control(size_t n) {
    job *j = nested(n, 3);
    for (size_t i = 0; i < n; i += 3 * NESTED / 2 + 1) j->text[i] = 'b';
    return j;
}

/* A letter and half of the longest token by the template, as much by a user, and so on. */
static void encode_chat(void *work) {
    static const char text[] = "{% for m in messages %}"
                               "{{ 'a' * 600 }}{{ m.content }}{% endfor %}";
    job *j = work;
    const size_t each = 600, n_turns = j->n / (2 * each);
    size_t n_ids = 0;
    ggufx_chat_message *turns = calloc(n_turns, sizeof *turns);
    ggufx_chat_template_options options = {.struct_size = sizeof options};
    ggufx_chat_request request = {.struct_size = sizeof request};
    ggufx_chat_template *chat = NULL;
    ggufx_runtime *rt = NULL;
    options.text = text_of(text);
    for (size_t i = 0; i < n_turns; i++) {
        turns[i].struct_size = sizeof *turns;
        turns[i].content = (ggufx_text){j->text + i * each, each};
    }
    request.messages = turns;
    request.n_messages = n_turns;
    OK(ggufx_runtime_create(&rt, NULL, ok_error()));
    OK(ggufx_chat_template_create(&chat, rt, NULL, &options, ok_error()));
    OK(ggufx_chat_template_tokenize(j->ids, j->n, &n_ids, chat, j->v.tokenizer, &request, 0,
                                    ok_error()));
    assert_true(n_ids > n_turns * each && n_ids < j->n); /* each of a user's letters is one token */
    ggufx_chat_template_destroy(chat);
    ggufx_runtime_destroy(rt);
    free(turns);
}

static void encode(void *work) {
    job *j = work;
    size_t n_ids = 0;
    OK(ggufx_tokenize(j->ids, j->n, &n_ids, j->v.tokenizer, j->text, j->n, 0, ok_error()));
    assert_true(n_ids > 0 && n_ids < j->n);
}

static void finish(void *work) {
    job *j = work;
    close_vocab(&j->v);
    free(j->text);
    free(j->ids);
    free(j);
}

int main(void) {
    static const cost_case cases[] = {
        {"colliding texts", 4000, colliding, create, finish, 0},
        {"nested whole", 1 << 20, nested_whole, encode, finish, 0},
        {"in runs", 1 << 20, nested_in_runs, encode, finish, 0},
        {"merges", 1 << 17, nested_normal, encode, finish, 0},
        {"controls in turns", 1 << 20, nested_control, encode_chat, finish, 0},
    };
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
