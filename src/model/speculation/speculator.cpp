// SPDX-License-Identifier: MIT
#include "model/speculation/speculator.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

// Default lengths; with the current token, seven draft tokens are the columns that share a pass
// over the weights.
constexpr uint32_t kDrafted = 7, kMatched = 3;

int32_t likeliest(const float *logits, size_t n) {
    return static_cast<int32_t>(std::max_element(logits, logits + n) - logits);
}

} // namespace

Speculator::Speculator(Session &session, const SpeculatorOptions &options)
    : session_(session), draft_(options.draft), draft_source_(options.draft_source),
      length_(options.n_draft ? options.n_draft : kDrafted), n_vocab_(session.logits_size()),
      logits_(n_vocab_ * (length_.most() + size_t{1}),
              HostAllocator<float>(session.model().host().get())),
      tokens_(length_.most() + size_t{1}, HostAllocator<int32_t>(session.model().host().get())),
      stops_(options.stops, options.stops + options.n_stops,
             HostAllocator<int32_t>(session.model().host().get())) {
    if (!draft_ && !draft_source_.propose)
        lookup_.emplace(session.model().host().get(), session.n_context(),
                        options.n_match ? options.n_match : kMatched);
}

uint64_t Speculator::bytes() const {
    return logits_.size() * sizeof(float) + (tokens_.size() + stops_.size()) * sizeof(int32_t) +
           (lookup_ ? lookup_->bytes() : 0);
}

TextIds Speculator::text() const {
    return {session_.ids(0), session_.length(0), tokens_[0]};
}

bool Speculator::stops_at(int32_t id) const {
    return std::find(stops_.begin(), stops_.end(), id) != stops_.end();
}

// Returns the largest draft that fits the caller's array and the context.
size_t Speculator::room(size_t capacity) const {
    const uint64_t used = session_.length(0) + 1;
    const uint64_t left = used < session_.n_context() ? session_.n_context() - used : 0;
    return std::min({capacity - 1, size_t{length_.most()}, static_cast<size_t>(left)});
}

Status Speculator::next(int32_t *ids, float *logprobs, size_t capacity, size_t *out_n,
                        const Chooser &chooser, const Progress &progress, Failure *failure) {
    if (!pending_ || n_changes_ != session_.n_changes(0)) {
        const Status status = first(ids, logprobs, chooser, failure);
        *out_n = status == Status::ok;
        return status;
    }
    size_t n = 0;
    const size_t most = room(capacity);
    Status status = most ? draft(most, &n, progress, failure) : Status::ok;
    if (status != Status::ok) return status;
    DecodeOptions options;
    options.progress = progress;
    options.all_logits = logits_.data();
    status = session_.decode(tokens(), 1 + n, options, failure);
    if (status != Status::ok) return status;
    return verify(n, ids, logprobs, out_n, chooser, failure);
}

// First step after a decode outside of the speculator.
Status Speculator::first(int32_t *id, float *logprob, const Chooser &chooser, Failure *failure) {
    Status status = session_.logits(logits_.data(), failure);
    if (status == Status::ok)
        status = chooser.choose(chooser.user, id, logprob, logits_.data(), n_vocab_, failure);
    if (status != Status::ok) return status;
    if (lookup_) lookup_->clear();
    tokens_[0] = *id;
    pending_ = true;
    n_changes_ = session_.n_changes(0);
    counts_.n_calls++;
    counts_.n_tokens++;
    return status;
}

// Verifies the draft; keeps decoded tokens as far as the sampler chooses the same.
Status Speculator::verify(size_t n_draft, int32_t *ids, float *logprobs, size_t *out_n,
                          const Chooser &chooser, Failure *failure) {
    const uint64_t before = session_.length(0) - 1 - n_draft;
    Status status = Status::ok;
    size_t n = 0;
    for (bool more = true; more;) {
        status = chooser.choose(chooser.user, ids + n, logprobs ? logprobs + n : nullptr,
                                logits_.data() + n * n_vocab_, n_vocab_, failure);
        if (status != Status::ok) break;
        n++;
        more = n <= n_draft && ids[n - 1] == tokens_[n] && !stops_at(ids[n - 1]);
    }
    if (n <= n_draft) (void)session_.truncate(0, before + n, nullptr); // drops the rejected tokens
    n_changes_ = session_.n_changes(0);
    if (n == 0) return status;
    if (n_draft) {
        // the last id is an accepted draft token and a stop token
        const bool last_too = n <= n_draft && ids[n - 1] == tokens_[n];
        length_.learn(n_draft, last_too ? n_draft : n - 1);
        counts_.n_accepted += n - 1 + last_too;
    }
    counts_.n_calls++;
    counts_.n_tokens += n;
    counts_.n_drafted += n_draft;
    tokens_[0] = ids[n - 1];
    *out_n = n;
    return Status::ok;
}

Status Speculator::draft(size_t most, size_t *n, const Progress &progress, Failure *failure) {
    const size_t wanted = std::min<size_t>(most, length_.next());
    if (wanted == 0) return Status::ok;
    if (draft_) return draft_by_model(wanted, n, progress, failure);
    const TextIds now = text();
    if (lookup_) {
        *n = lookup_->propose(tokens() + 1, wanted, now);
        return Status::ok;
    }
    *n = draft_source_.propose(draft_source_.user, tokens() + 1, wanted, now.ids, now.n, now.last);
    if (*n <= wanted) return Status::ok;
    return set_failure(failure, Status::argument, {},
                       "%" PRIu64 " draft tokens were given, but %" PRIu64 " were requested",
                       static_cast<uint64_t>(*n), static_cast<uint64_t>(wanted));
}

// Decodes the sequence in the draft session, which mostly has all but the last tokens. Compares the
// ids that it has: 4 bytes each, negligible against the gigabytes per token.
Status Speculator::catch_up(const TextIds &text, const Progress &progress, Failure *failure) {
    const int32_t *const have = draft_->ids(0);
    const uint64_t n_have = std::min(draft_->length(0), text.n);
    const auto same =
        static_cast<uint64_t>(std::mismatch(have, have + n_have, text.ids).first - have);
    if (same < draft_->length(0)) {
        const Status status = draft_->truncate(0, same, failure);
        if (status != Status::ok) return status;
    }
    DecodeOptions options;
    options.progress = progress;
    int32_t few[2 * (kMostDrafted + 1)]; // for a single decode, if these are enough
    const uint64_t n_new = text.n - same;
    if (n_new < sizeof few / sizeof *few) {
        std::copy(text.ids + same, text.ids + text.n, few);
        few[n_new] = text.last;
        return draft_->decode(few, static_cast<size_t>(n_new) + 1, options, failure);
    }
    const Status status =
        draft_->decode(text.ids + same, static_cast<size_t>(n_new), options, failure);
    return status == Status::ok ? draft_->decode(&text.last, 1, options, failure) : status;
}

Status Speculator::draft_by_model(size_t most, size_t *n, const Progress &progress,
                                  Failure *failure) {
    const TextIds now = text();
    if (now.size() >= draft_->n_context()) return Status::ok;
    most = std::min(most, static_cast<size_t>(draft_->n_context() - now.size()));
    Status status = catch_up(now, progress, failure);
    DecodeOptions options;
    options.progress = progress;
    while (status == Status::ok) {
        status = draft_->logits(logits_.data(), failure);
        if (status != Status::ok) return status;
        const int32_t id = likeliest(logits_.data(), n_vocab_);
        tokens_[++*n] = id;
        if (*n == most || stops_at(id)) break;
        status = draft_->decode(&id, 1, options, failure);
    }
    return status;
}

} // namespace ggufx::model
