// A text as the field's tools cut it: chunks of equal length, each for itself.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/session.hpp"

namespace ggufx::model {

// A rest shorter than a chunk is dropped.
struct Chunks {
    const int32_t *tokens;
    size_t n_tokens;
    uint32_t n_context; // tokens of a chunk
    int32_t bos;        // replaces token 0 of each chunk; -1 = none

    size_t count() const { return n_tokens / n_context; }
    void copy(int32_t *out, size_t index) const; // [n_context]
};

// The session must be empty and have room for a chunk, the text at least one, of tokens of the
// vocabulary: state, argument.
Status check_chunks(const Session &session, const Chunks &text, Failure *failure);

} // namespace ggufx::model
