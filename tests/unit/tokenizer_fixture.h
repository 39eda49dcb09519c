/*
 * Shared by the tests of tokenization: the tokenizer of the tiny model.
 * SPDX-License-Identifier: MIT
 */
#ifndef TOKENIZER_FIXTURE_H
#define TOKENIZER_FIXTURE_H

#include "model_fixture.h"

enum { MAX_IDS = 256 };
/* U+2581, SentencePiece's character for a space. */
#define SP "\xe2\x96\x81"

/* Starts the fixture with a tokenizer; vocab_fault as in tiny_model.h. */
void begin_tokenizer(fixture *f, int vocab_fault);
/* Tokenizes a text; returns the number of ids. */
size_t encode(fixture *f, int32_t *ids, const char *text, size_t length, uint32_t flags);
/* Returns the id of a piece that must exist. */
int32_t id_of(fixture *f, const char *piece);
/* Asserts the pieces of a text, separated by '|'. */
void assert_pieces(fixture *f, const char *text, uint32_t flags, const char *expected);

#endif
