// Perplexity over token ids in chunks, as llama-perplexity computes it
// (docs/reproducibility/models.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "eval/chunks.hpp"

namespace ggufx::model {

constexpr size_t kScoredGroup = 32; // rows projected at once

struct PerplexityResult {
    double perplexity;
    double standard_error;
    uint64_t n_chunks, n_tokens, n_scored;
};

// Losses of predictions, added in token order.
class LossSums {
public:
    void add(double loss) {
        sum_ += loss;
        sum_of_squares_ += loss * loss;
        n_++;
    }
    PerplexityResult result(uint64_t n_chunks, uint64_t n_tokens) const;

private:
    double sum_ = 0.0, sum_of_squares_ = 0.0;
    uint64_t n_ = 0;
};

// Callback for every scored row, in order.
class ScoredRows {
public:
    // Receives n rows of logits, the next token after each, and the losses of these tokens.
    virtual Status rows(const float *logits, size_t n, const int32_t *next, const double *losses,
                        Failure *failure) = 0;
    virtual Status begin_chunk(const int32_t *tokens, Failure *failure) = 0; // [n_context]
    virtual Status end_chunk(Failure *failure) = 0;

protected:
    ~ScoredRows() = default;
};

struct PerplexityTask {
    Chunks text;
    void *user;
    int32_t (*report)(void *user, const PerplexityResult &running); // may be null; non-zero stops
    ScoredRows *const *watchers = nullptr;                          // [n_watchers]
    size_t n_watchers = 0;
    Progress progress = {}; // tokens done
};

// The session is empty before and after. Throws std::bad_alloc.
Status perplexity(PerplexityResult *out, Session &session, const PerplexityTask &task,
                  Failure *failure);

} // namespace ggufx::model
