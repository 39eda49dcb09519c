/*
 * The tokenizer of the tiny model, for the tests of tokenizing.
 * SPDX-License-Identifier: MIT
 */
#ifndef TOKENIZER_FIXTURE_H
#define TOKENIZER_FIXTURE_H

#include "model_fixture.h"

enum { MAX_IDS = 256 };
/* U+2581, which SentencePiece has for a space. */
#define SP "\xe2\x96\x81"

/* The fixture with a tokenizer; vocab_fault as in tiny_model.h. */
void begin_tokenizer(fixture *f, int vocab_fault);
/* The ids of a text; how many. */
size_t encode(fixture *f, int32_t *ids, const char *text, size_t length, uint32_t flags);
/* The id of a piece that must be there. */
int32_t id_of(fixture *f, const char *piece);
/* The pieces of a text, separated by '|'. */
void assert_pieces(fixture *f, const char *text, uint32_t flags, const char *expected);

#endif
