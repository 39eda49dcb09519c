// SPDX-License-Identifier: MIT
#include "generate/drafts.hpp"

#include <algorithm>

namespace ggufx::generate {

namespace {

constexpr uint32_t kDrafted = 7, kMatched = 3;

} // namespace

Drafts::Drafts(const Host *host, uint32_t n_context, uint32_t n_vocab, const DraftOptions &options)
    : options_(options), length_(options.n_draft ? options.n_draft : kDrafted),
      tokens_(HostAllocator<int32_t>(host)), logits_(HostAllocator<float>(host)) {
    tokens_.reserve(length_.most() + size_t{1});
    if (options_.session)
        logits_.resize(n_vocab);
    else
        lookup_.emplace(host, n_context + 1, options_.n_match ? options_.n_match : kMatched);
}

uint64_t Drafts::bytes() const {
    return tokens_.capacity() * sizeof(int32_t) + logits_.capacity() * sizeof(float) +
           (lookup_ ? lookup_->bytes() : 0);
}

void Drafts::begin(size_t most) {
    drop();
    most_ = most ? std::min<size_t>(most, length_.next()) : 0;
}

void Drafts::drop() {
    if (is_open_) options_.session->abandon_step();
    is_open_ = false;
    most_ = 0;
    tokens_.clear();
}

// Opens a step of the draft model for the tokens that its sequence lacks. It compares the ids that
// it has: 4 bytes each, negligible against the weights read for a token.
Status Drafts::open(const Vector<int32_t> &ids, Failure *failure) {
    model::Session &session = *options_.session;
    const uint32_t sequence = options_.sequence;
    const auto at = [&](size_t i) { return i < ids.size() ? ids[i] : tokens_[i - ids.size() + 1]; };
    const size_t n = ids.size() + n_drafts();
    const int32_t *const have = session.ids(sequence);
    const size_t n_have = std::min(static_cast<size_t>(session.length(sequence)), n - 1);
    size_t same = 0;
    while (same < n_have && have[same] == at(same)) same++;
    Status status = Status::ok;
    if (same < session.length(sequence)) status = session.truncate(sequence, same, failure);
    if (status != Status::ok) return status;
    // Drafts of a sequence that was changed since are made again.
    if (same < ids.size()) tokens_.resize(1);
    const bool is_draft = same >= ids.size();
    const model::BatchItem item = {.sequence = sequence,
                                   .tokens = is_draft ? tokens_.data() + (same - ids.size() + 1)
                                                      : ids.data() + same,
                                   .n = is_draft ? n - same : ids.size() - same,
                                   .n_logits = 1};
    model::BatchOptions options;
    options.logits = logits_.data();
    options.keeps_nan = true;
    status = session.open_step(&item, 1, options, failure);
    is_open_ = status == Status::ok;
    return status;
}

void Drafts::take_token() {
    const auto likeliest = std::max_element(logits_.begin(), logits_.end()) - logits_.begin();
    tokens_.push_back(static_cast<int32_t>(likeliest));
}

Status Drafts::run(const Vector<int32_t> &ids, const Part &part, bool *complete, Failure *failure) {
    *complete = true;
    if (tokens_.empty()) tokens_.push_back(ids.back());
    if (most_ == 0) return Status::ok;
    if (lookup_) {
        const model::TextIds text = {ids.data(), ids.size() - 1, ids.back()};
        tokens_.resize(1 + most_);
        tokens_.resize(1 + lookup_->propose(tokens_.data() + 1, most_, text));
        most_ = 0;
        return Status::ok;
    }
    model::Budget budget(part.budget_us, part.clock);
    uint64_t used = 0;
    while (n_drafts() < most_) {
        if (ids.size() + n_drafts() >= options_.session->n_context()) break;
        Status status = is_open_ ? Status::ok : open(ids, failure);
        if (status != Status::ok) return status;
        model::StepOptions step;
        step.progress = part.progress;
        step.clock = part.clock;
        if (part.budget_us) step.budget_us = part.budget_us - std::min(used, part.budget_us - 1);
        status = options_.session->advance_step(step, complete, failure);
        is_open_ = status == Status::ok && !*complete;
        if (status != Status::ok || !*complete) return status;
        take_token();
        used += budget.lap() / 1000;
        if (part.budget_us && budget.is_used_up() && n_drafts() < most_) {
            *complete = false;
            return Status::ok;
        }
    }
    most_ = 0;
    return Status::ok;
}

void Drafts::learn(size_t n_accepted) {
    const size_t n = n_drafts();
    if (n == 0) return;
    length_.learn(n, n_accepted);
    n_drafted_ += n;
    n_accepted_ += n_accepted;
}

} // namespace ggufx::generate
