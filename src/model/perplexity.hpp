// Perplexity over token ids in chunks, counted as the field's tools count (README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "model/chunks.hpp"

namespace ggufx::model {

struct PerplexityResult {
    double perplexity;
    double standard_error;
    uint64_t n_chunks, n_tokens, n_scored;
};

struct PerplexityTask {
    Chunks text;
    void *user;
    int32_t (*report)(void *user, const PerplexityResult &running); // may be null; non-zero stops
};

// The session is empty before and after. Throws std::bad_alloc.
Status perplexity(PerplexityResult *out, Session &session, const PerplexityTask &task,
                  Failure *failure);

} // namespace ggufx::model
