/*
 * A vocabulary of bytes and some words, grammars over it, texts that match them or do not.
 * SPDX-License-Identifier: MIT
 */
#ifndef GRAMMAR_FIXTURE_H
#define GRAMMAR_FIXTURE_H

#include "vocab_fixture.h"

enum { END_ID = 2, FIRST_BYTE = 3, FIRST_WORD = FIRST_BYTE + 256, N_VOCAB = FIRST_WORD + 36 };
enum { N_WORDS = (N_VOCAB + 31) / 32 };

/* Returns the vocabulary. Ids 0 to 2 are control tokens, the last of them the end-of-generation
 * token. Then a token for each byte, then words: some with the same bytes, of one class of
 * characters or several, short and long. */
vocab grammar_vocab(void);
/* The vocabulary of a group of tests with this fixture. */
extern vocab v;
int grammar_setup(void **state);
int grammar_teardown(void **state);
/* Copies the bytes of a token and returns their number, 0 for control tokens. */
size_t token_bytes(const vocab *v, int32_t id, char out[64]);

ggufx_status create_grammar(ggufx_grammar **out, const ggufx_runtime *runtime, const vocab *v,
                            uint32_t kind, const char *text, size_t length, ggufx_error *error);
/* Returns a matcher of a valid grammar; it keeps the grammar. */
ggufx_matcher *new_matcher(const vocab *v, uint32_t kind, const char *text);
/* Accepts a text byte by byte. */
ggufx_status accept_text(ggufx_matcher *m, const char *text, ggufx_error *error);
uint32_t matcher_flags(const ggufx_matcher *m);
int has_bit(const uint32_t *bits, int32_t id);

/* Asserts that a text matches completely, or that it does not, even if it is a valid prefix. */
void assert_fits(const vocab *v, uint32_t kind, const char *grammar, const char *text);
void assert_misfits(const vocab *v, uint32_t kind, const char *grammar, const char *text);
void assert_refused(const vocab *v, uint32_t kind, const char *grammar, ggufx_status want,
                    const char *message);
/* Checks every bit of the mask by accepting and rolling back the token. */
void assert_mask(const vocab *v, ggufx_matcher *m);

#endif
