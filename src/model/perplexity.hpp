// Perplexity over token ids in chunks, counted as the field's tools count (README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "model/session.hpp"

namespace ggufx::model {

struct PerplexityResult {
    double perplexity;
    double standard_error;
    uint64_t n_chunks, n_tokens, n_scored;
};

struct PerplexityTask {
    const int32_t *tokens;
    size_t n_tokens;
    uint32_t n_context; // tokens of a chunk
    int32_t bos;        // replaces token 0 of each chunk; -1 = none
    void *user;
    int32_t (*report)(void *user, const PerplexityResult &running); // may be null; non-zero stops
};

// The session is empty before and after. Throws std::bad_alloc.
Status perplexity(PerplexityResult *out, Session &session, const PerplexityTask &task,
                  Failure *failure);

} // namespace ggufx::model
