// Splits a token sequence into chunks of equal length, evaluated independently, as llama-perplexity
// does.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/session.hpp"

namespace ggufx::model {

// Token ids in chunks; tokens that fill no chunk are dropped.
struct Chunks {
    const int32_t *tokens;
    size_t n_tokens;
    uint32_t n_context;  // tokens per chunk
    int32_t bos;         // replaces token 0 of each chunk; -1 = none
    uint32_t stride = 0; // tokens from one chunk's start to the next one's; 0 = n_context

    uint32_t step() const { return stride ? stride : n_context; }
    size_t count() const { return (n_tokens - n_context) / step() + 1; } // requires check_chunks()
    // Predictions of a chunk that are scored: those at positions first .. end - 1.
    size_t first_scored() const { return stride ? n_context - stride - 1 : n_context / 2; }
    size_t end_scored() const { return n_context - 1; }
    size_t n_scored() const { return end_scored() - first_scored(); }
    void copy(int32_t *out, size_t index) const; // [n_context]
};

// The session must be empty and hold a chunk; the input must have at least one chunk, and ids in
// the vocabulary. Errors: state, argument.
Status check_chunks(const Session &session, const Chunks &text, Failure *failure);

} // namespace ggufx::model
