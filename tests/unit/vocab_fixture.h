/*
 * Shared by the tests of tokenization: vocabularies of any texts.
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

/* Opens a file with these tokens and no other keys; no space is added before texts. */
ggufx_file *vocab_file(const vocab_token *tokens, size_t n);
vocab open_vocab(const vocab_token *tokens, size_t n);
void close_vocab(vocab *v);

#endif
