/*
 * Vocabularies made of any texts, for the tests of tokenizing.
 * SPDX-License-Identifier: MIT
 */
#ifndef VOCAB_FIXTURE_H
#define VOCAB_FIXTURE_H

#include "cost.h"

typedef struct vocab_token {
    const char *text;
    size_t length;
    float score;
    int32_t kind; /* 1 normal, 2 unknown, 3 control, 4 user-defined */
} vocab_token;

typedef struct vocab {
    ggufx_file *file;
    ggufx_tokenizer *tokenizer;
} vocab;

/* A file with these tokens and nothing else; no space is put in front of texts. */
ggufx_file *vocab_file(const vocab_token *tokens, size_t n);
vocab open_vocab(const vocab_token *tokens, size_t n);
void close_vocab(vocab *v);

#endif
