/*
 * Cost of grammars at 1 x and 4 x the size: rules, classes, texts, repetitions.
 * SPDX-License-Identifier: MIT
 */
#include "grammar_fixture.h"
#include "ok.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct job {
    vocab v;
    ggufx_matcher *m;
    char *text;
    size_t n;
    uint32_t kind;
} job;

/* n rules, each of which calls the next one after a word. */
static void *rules(size_t n) {
    job *j = calloc(1, sizeof *j);
    size_t at = 0;
    j->v = grammar_vocab();
    j->text = malloc(64 * n + 64);
    at += (size_t)sprintf(j->text, "root ::= r0\n");
    for (size_t i = 0; i < n; i++)
        at += (size_t)sprintf(j->text + at, "r%zu ::= \"w%zu\" [a-f%c] r%zu? | \"x\"\n", i, i,
                              'g' + (char)(i % 9), (i + 1) % n);
    j->n = at;
    return j;
}

/* A schema of n members of an object. */
static void *members(size_t n) {
    job *j = calloc(1, sizeof *j);
    size_t at = 0;
    j->v = grammar_vocab();
    j->kind = GGUFX_GRAMMAR_JSON_SCHEMA;
    j->text = malloc(96 * n + 96);
    at += (size_t)sprintf(j->text, "{\"type\":\"object\",\"properties\":{");
    for (size_t i = 0; i < n; i++)
        at +=
            (size_t)sprintf(j->text + at, "%s\"member%zu\":{\"type\":\"integer\",\"maximum\":%zu}",
                            i ? "," : "", (size_t)scrambled(i) % 100000000, 1000 + i % 9000);
    at += (size_t)sprintf(j->text + at, "}}");
    j->n = at;
    return j;
}

static void create(void *work) {
    job *j = work;
    ggufx_grammar *grammar = NULL;
    OK(create_grammar(&grammar, rt, &j->v, j->kind, j->text, j->n, NULL));
    ggufx_grammar_destroy(grammar);
}

/* n tokens of a text that repeatedly nests 40 deep. */
static void *text_of(size_t n) {
    job *j = calloc(1, sizeof *j);
    j->v = grammar_vocab();
    j->m = new_matcher(&j->v, 0, "root ::= x*\nx ::= \"(\" x* \")\" | [a-z]{1,100000} \";\"");
    j->n = n;
    j->text = malloc(n + 1);
    for (size_t i = 0; i < n; i++)
        j->text[i] = i % 100 < 40 ? '(' : i % 100 < 59 ? 'q' : i % 100 == 59 ? ';' : ')';
    j->text[n] = 0;
    return j;
}

static void follow(void *work) {
    job *j = work;
    uint32_t bits[N_WORDS];
    for (size_t i = 0; i < j->n; i++) {
        const int32_t id = FIRST_BYTE + (uint8_t)j->text[i];
        OK(ggufx_matcher_accept(j->m, &id, 1, ok_error()));
        if (i % 64 == 0) OK(ggufx_matcher_mask(bits, N_WORDS, j->m, ok_error()));
    }
    OK(ggufx_matcher_rollback(j->m, j->n, ok_error()));
}

static void finish(void *work) {
    job *j = work;
    ggufx_matcher_destroy(j->m);
    close_vocab(&j->v);
    free(j->text);
    free(j);
}

int main(void) {
    static const cost_case cases[] = {
        {"rules", 4000, rules, create, finish, 1024},
        {"members", 64, members, create, finish, 32768},
        {"text", 20000, text_of, follow, finish, 1024},
    };
    return run_cost_cases(cases, sizeof cases / sizeof *cases);
}
