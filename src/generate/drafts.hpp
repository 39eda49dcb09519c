// Draft tokens of one generator, by prompt lookup or by a smaller model. They change no event: the
// sampler decides on each from the logits after it.
// SPDX-License-Identifier: MIT
#pragma once

#include "run/session.hpp"
#include "sampling/draft_length.hpp"
#include "sampling/lookup.hpp"

#include <optional>

namespace ggufx::generate {

constexpr uint32_t kMostDrafted = 31, kMostMatched = 32;

struct DraftOptions {
    model::Session *session = nullptr; // session of the draft model; null: prompt lookup
    uint32_t sequence = 0;             // sequence of that session
    uint32_t n_draft = 0;              // at most; 0 = 7
    uint32_t n_match = 0;              // prompt lookup; 0 = 3
};

class Drafts {
public:
    // The session must outlive it. Throws std::bad_alloc.
    Drafts(const Host *host, uint32_t n_context, uint32_t n_vocab, const DraftOptions &options);
    Drafts(const Drafts &) = delete;

    struct Part { // options of a call
        Progress progress;
        uint64_t budget_us = 0; // 0: until the drafts are complete
        model::Clock clock;
    };
    void restart() { // before other tokens
        drop();
        if (lookup_) lookup_->clear();
    }
    // Begins to draft at most so many tokens after ids[n]; run() goes on. Throws nothing.
    void begin(size_t most);
    Status run(const Vector<int32_t> &ids, const Part &part, bool *complete, Failure *failure);
    void drop(); // the drafts, and a step of the draft model
    bool is_running() const { return most_ > 0; }

    // The last token, then its drafts.
    const Vector<int32_t> &tokens() const { return tokens_; }
    size_t n_drafts() const { return tokens_.empty() ? 0 : tokens_.size() - 1; }
    // How many drafts the sampler has accepted.
    void learn(size_t n_accepted);
    uint64_t n_drafted() const { return n_drafted_; }
    uint64_t n_accepted() const { return n_accepted_; }
    void set_counts(uint64_t n_drafted, uint64_t n_accepted) {
        n_drafted_ = n_drafted;
        n_accepted_ = n_accepted;
    }
    const DraftOptions &options() const { return options_; }
    uint64_t bytes() const;

private:
    Status open(const Vector<int32_t> &ids, Failure *failure);
    void take_token();

    const DraftOptions options_;
    std::optional<model::Lookup> lookup_;
    model::DraftLength length_;
    Vector<int32_t> tokens_;
    Vector<float> logits_; // logits of the draft model
    size_t most_ = 0;      // drafts to make; 0: none
    bool is_open_ = false; // a step of the draft model is in flight
    uint64_t n_drafted_ = 0, n_accepted_ = 0;
};

} // namespace ggufx::generate
