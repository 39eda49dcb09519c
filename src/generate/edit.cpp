// Edits of a generator: suspension, truncation, another one with the same state.
// SPDX-License-Identifier: MIT
#include "generate/generator.hpp"
#include "generate/step.hpp"

#include <inttypes.h>

#include <algorithm>

namespace ggufx::generate {

// Returns a matcher that has accepted the output, up to the first n_tokens tokens in all.
Owned<Matcher> Generator::matcher_of(size_t n_tokens) const {
    if (!options_.grammar) return nullptr;
    Owned<Matcher> out = options_.grammar->matcher();
    for (size_t i = n_prompt_; i < n_tokens; i++) out->accept(tokens_.ids[i]);
    return out;
}

void Generator::suspend() {
    require_idle();
    if (tokens_.size() == 0) fail(Status::state, {}, "the generator has no prompt");
    if (!has_sequence_) fail(Status::state, {}, "the generator is suspended already");
    if (is_appended_)
        fail(Status::unsupported, {},
             "the prompt follows removed or shifted tokens, which cannot be computed again");
    steps_.release(options_.sequence);
    has_sequence_ = false;
    held_ = 0;
    if (drafts_) drafts_->restart();
}

uint64_t Generator::resume(uint32_t sequence) {
    require_idle();
    if (has_sequence_) fail(Status::state, {}, "the generator is not suspended");
    steps_.claim(sequence, this);
    const uint32_t before = options_.sequence;
    try {
        options_.sequence = sequence;
        cut(reusable(false));
    } catch (...) {
        options_.sequence = before;
        steps_.release(sequence);
        throw;
    }
    has_sequence_ = true;
    return held_;
}

void Generator::truncate(size_t n_tokens) {
    require_idle();
    if (n_tokens == 0 || n_tokens > tokens_.size())
        fail(Status::argument, {}, "cannot keep %" PRIu64 " tokens of %" PRIu64,
             static_cast<uint64_t>(n_tokens), static_cast<uint64_t>(tokens_.size()));
    Owned<Matcher> matcher = matcher_of(n_tokens);
    const sampling::Chain::State state = sampler_.state();
    if (has_sequence_) {
        match();
        cut(std::min(held_, n_tokens - 1));
    }
    // From here on nothing fails.
    tokens_.truncate(n_tokens, session_.model().shape().n_embd);
    matcher_ = std::move(matcher);
    n_prompt_ = std::min(n_prompt_, n_tokens);
    n_reused_ = std::min(n_reused_, n_tokens);
    n_scored_ = std::min(n_scored_, n_tokens);
    n_matched_ = n_tokens - n_prompt_;
    if (closes_at_ >= n_tokens) closes_at_ = SIZE_MAX;
    sum_logprobs_ = 0;
    restore_sampler(state); // the random numbers go on
    if (drafts_) drafts_->restart();
    queue_.clear();
    end_ = End::none;
    text_spoiled_ = true;
    cancelled_.store(0, Order::release);
}

void Generator::reseed(uint64_t seed) {
    sampler_.reseed(seed);
}

Generator::Generator(Generator &other, uint32_t sequence)
    : session_(other.session_), steps_(other.steps_), options_(other.options_),
      fingerprint_(other.fingerprint_), sampler_(other.sampler_), text_(other.text_),
      queue_(other.queue_), tokens_(other.tokens_), format_(other.format_),
      matcher_(other.matcher_of(other.tokens_.size())), top_(other.top_), top_ids_(other.top_ids_),
      top_logits_(other.top_logits_), n_prompt_(other.n_prompt_), n_reused_(other.n_reused_),
      n_scored_(other.n_scored_), n_matched_(other.n_matched_), n_reasoning_(other.n_reasoning_),
      sum_logprobs_(other.sum_logprobs_), forced_(HostAllocator<int32_t>(host())),
      closes_at_(other.closes_at_), end_(other.end_), last_(other.last_),
      is_appended_(other.is_appended_), has_told_prompt_(other.has_told_prompt_),
      marks_(other.marks_), text_spoiled_(true), cancelled_(other.is_cancelled()) {
    require_idle();
    options_.sequence = sequence;
    tokens_.reserve(other.tokens_.ids.capacity());
    if (options_.drafts)
        drafts_.emplace(host(), session_.n_context(), static_cast<uint32_t>(session_.logits_size()),
                        *options_.drafts);
    steps_.claim(sequence, this);
    try {
        copy_caches(other);
    } catch (...) {
        steps_.release(sequence);
        throw;
    }
}

void Generator::copy_caches(Generator &other) {
    const uint32_t sequence = options_.sequence;
    if (session_.length(sequence) > 0)
        fail(Status::state, {.index = sequence},
             "sequence %" PRIu32 " has tokens: it must be empty", sequence);
    Failure failure = {};
    Status status = Status::ok;
    if (other.has_sequence_ && other.tokens_.size() > 0) {
        other.match();
        status = session_.copy(other.options_.sequence, sequence, other.held_, &failure);
    }
    if (status != Status::ok) throw Error{failure};
    held_ = static_cast<size_t>(session_.length(sequence));
    n_changes_ = session_.n_changes(sequence);
}

} // namespace ggufx::generate
