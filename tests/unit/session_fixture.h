/*
 * Shared by the tests of sessions: N token ids, and decoding that must succeed.
 * SPDX-License-Identifier: MIT
 */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H

#include "model_fixture.h"

enum { N = 40 };

/* Fills BOS, then ids from the whole vocabulary. */
void make_tokens(int32_t *tokens, size_t n);

/* logits: NULL, or TINY_VOCAB floats after the last token. */
void decode(fixture *f, const int32_t *tokens, size_t n, float *logits);

#endif
