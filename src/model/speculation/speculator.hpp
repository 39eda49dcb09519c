// Speculative decoding: draft tokens are decoded together and accepted as far as the sampler
// chooses the same. Contract: include/ggufx/speculate.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/session.hpp"
#include "model/speculation/draft_length.hpp"
#include "model/speculation/lookup.hpp"

#include <optional>

namespace ggufx::model {

constexpr uint32_t kMostDrafted = 31, kMostMatched = 32;

// Draft source of the host: writes at most `most` ids to `out`, returns their number.
struct DraftSource {
    void *user = nullptr;
    size_t (*propose)(void *user, int32_t *out, size_t most, const int32_t *text, size_t n_text,
                      int32_t last) = nullptr;
};

struct SpeculatorOptions {
    Session *draft = nullptr; // at most one of draft and draft_source; neither: prompt lookup
    DraftSource draft_source;
    const int32_t *stops = nullptr; // [n_stops], copied
    size_t n_stops = 0;
    uint32_t n_draft = 0; // 0 = 7
    uint32_t n_match = 0; // 0 = 3
};

// Chooses and accepts a token; a failure changes nothing.
struct Chooser {
    void *user;
    Status (*choose)(void *user, int32_t *id, float *logprob, const float *logits, size_t n,
                     Failure *failure);
};

class Speculator {
public:
    struct Counts {
        uint64_t n_calls = 0, n_tokens = 0, n_drafted = 0, n_accepted = 0;
    };
    // Both sessions must outlive it. Throws std::bad_alloc.
    Speculator(Session &session, const SpeculatorOptions &options);

    // Writes ids[capacity], capacity >= 1; logprobs may be null. Throws and allocates nothing
    // itself.
    Status next(int32_t *ids, float *logprobs, size_t capacity, size_t *out_n,
                const Chooser &chooser, const Progress &progress, Failure *failure);
    const Counts &counts() const { return counts_; }
    uint64_t bytes() const;

private:
    Status first(int32_t *id, float *logprob, const Chooser &chooser, Failure *failure);
    size_t room(size_t capacity) const;
    Status draft(size_t most, size_t *n, const Progress &progress, Failure *failure);
    Status draft_by_model(size_t most, size_t *n, const Progress &progress, Failure *failure);
    Status catch_up(const TextIds &text, const Progress &progress, Failure *failure);
    Status verify(size_t n_draft, int32_t *ids, float *logprobs, size_t *out_n,
                  const Chooser &chooser, Failure *failure);
    bool stops_at(int32_t id) const;
    int32_t *tokens() { return tokens_.data(); }
    TextIds text() const;

    Session &session_;
    Session *draft_;
    DraftSource draft_source_;
    std::optional<Lookup> lookup_;
    DraftLength length_;
    size_t n_vocab_;
    Vector<float> logits_;   // [most + 1][n_vocab]
    Vector<int32_t> tokens_; // the last returned id, then the draft tokens
    Vector<int32_t> stops_;
    bool pending_ = false;   // tokens_[0] is to be decoded
    uint64_t n_changes_ = 0; // changes of the session after the last call
    Counts counts_;
};

} // namespace ggufx::model
