// SPDX-License-Identifier: MIT
#include "sampling/lookup.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

// Positions to compare per hash, and tokens to compare back. The longest match gives the best
// draft, but lookup must cost nothing compared to a token.
constexpr int kMostPlaces = 8;
constexpr uint64_t kMostMatch = 64;

// Returns the draft length for a match: at least three, a third of longer matches.
size_t worth_drafting(uint64_t n_matched) {
    return static_cast<size_t>(std::max<uint64_t>(n_matched / 3, 3));
}

uint32_t table_size(uint32_t n_context) {
    uint32_t n = 64;
    while (n < n_context) n *= 2; // n_context is below 2^31
    return n;
}

} // namespace

Lookup::Lookup(const Host *host, uint32_t n_context, uint32_t n_match)
    : n_match_(n_match), heads_(table_size(n_context), 0, HostAllocator<uint32_t>(host)),
      before_(size_t{n_context} + 1, 0, HostAllocator<uint32_t>(host)) {}

void Lookup::clear() {
    n_known_ = 0;
    std::fill(heads_.begin(), heads_.end(), 0);
}

uint32_t *Lookup::head(const TextIds &text, uint64_t end) {
    uint64_t hash = 0;
    for (uint64_t i = end - n_match_; i < end; i++)
        hash = (hash + static_cast<uint32_t>(text[i]) + 1) * 0x9e3779b97f4a7c15u;
    return &heads_[(hash >> 32) & (heads_.size() - 1)];
}

void Lookup::extend(const TextIds &text) {
    for (uint64_t end = std::max<uint64_t>(n_known_ + 1, n_match_); end <= text.n; end++) {
        uint32_t *const at = head(text, end);
        before_[end] = *at;
        *at = static_cast<uint32_t>(end);
    }
    n_known_ = text.n;
}

// Returns the earlier run that has the most tokens in common with the end of the sequence.
Lookup::Match Lookup::best_match(const TextIds &text) {
    Match best = {0, n_match_ - 1};
    uint64_t end = *head(text, text.size());
    for (int i = 0; i < kMostPlaces && end; i++) {
        uint64_t n = 0;
        while (n < kMostMatch && n < end && text[end - 1 - n] == text[text.size() - 1 - n]) n++;
        if (n > best.length) best = {end, n};
        end = before_[end];
    }
    return best;
}

// A draft that reaches the end of the sequence continues with its own tokens.
size_t Lookup::propose(int32_t *out, size_t most, const TextIds &text) {
    extend(text);
    if (text.size() < n_match_) return 0;
    const Match match = best_match(text);
    if (match.end == 0) return 0;
    const size_t n = std::min(most, worth_drafting(match.length));
    for (size_t i = 0; i < n; i++) {
        const uint64_t at = match.end + i;
        out[i] = at < text.size() ? text[at] : out[at - text.size()];
    }
    return n;
}

} // namespace ggufx::model
