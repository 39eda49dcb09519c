/*
 * Implementation of session_fixture.h.
 * SPDX-License-Identifier: MIT
 */
#include "session_fixture.h"

void make_tokens(int32_t *tokens, size_t n) {
    tokens[0] = TINY_BOS;
    for (size_t i = 1; i < n; i++) tokens[i] = (int32_t)((i * i * 31 + 7 * i + 5) % TINY_VOCAB);
}

void decode(fixture *f, const int32_t *tokens, size_t n, float *logits) {
    MUST(f, decode_ids(f->session, tokens, n, logits, logits ? TINY_VOCAB : 0, &f->error));
}
