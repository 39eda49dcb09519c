// A text as the field's tools cut it: chunks of equal length, each for itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/session.hpp"

namespace ggufx::model {

// Tokens that fill no chunk are dropped.
struct Chunks {
    const int32_t *tokens;
    size_t n_tokens;
    uint32_t n_context;  // tokens of a chunk
    int32_t bos;         // replaces token 0 of each chunk; -1 = none
    uint32_t stride = 0; // from the begin of one to that of the next; 0 = n_context

    uint32_t step() const { return stride ? stride : n_context; }
    size_t count() const { return (n_tokens - n_context) / step() + 1; } // checked ones
    // Predictions of a chunk that are scored: those made at first .. end - 1.
    size_t first_scored() const { return stride ? n_context - stride - 1 : n_context / 2; }
    size_t end_scored() const { return n_context - 1; }
    size_t n_scored() const { return end_scored() - first_scored(); }
    void copy(int32_t *out, size_t index) const; // [n_context]
};

// The session must be empty and have room for a chunk, the text at least one, of tokens of the
// vocabulary: state, argument.
Status check_chunks(const Session &session, const Chunks &text, Failure *failure);

} // namespace ggufx::model
