/*
 * What the tests of sessions share: a text of N tokens, decoding and logits that must succeed.
 * SPDX-License-Identifier: MIT
 */
#ifndef SESSION_FIXTURE_H
#define SESSION_FIXTURE_H

#include "model_fixture.h"

enum { N = 40 };

/* BOS, then ids all over the vocabulary. */
void make_tokens(int32_t *tokens, size_t n);

void decode(fixture *f, const int32_t *tokens, size_t n);
void get_logits(fixture *f, float *logits); /* TINY_VOCAB of them */

#endif
