// Tokens that a text may take next, where it has less choice than a model: sets of ids, and one of
// several sequences.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/grammar_choice.hpp"

#include <optional>
#include <span>

namespace ggufx::cli {

// A set of token ids.
class TokenSet {
public:
    explicit TokenSet(size_t n_vocab = 0) : bits_((n_vocab + 31) / 32) {}
    void add(int32_t id) { bits_[static_cast<size_t>(id) / 32] |= uint32_t{1} << id % 32; }
    void remove(int32_t id) { bits_[static_cast<size_t>(id) / 32] &= ~(uint32_t{1} << id % 32); }
    bool has(int32_t id) const { return (bits_[static_cast<size_t>(id) / 32] >> id % 32 & 1) != 0; }
    void add(const TokenSet &other);
    void add_fitting(ggufx_matcher *matcher); // tokens with which the matcher goes on
    void add_all();
    // The logits of all other tokens become -inf.
    void apply(std::span<float> logits) const;

private:
    std::vector<uint32_t> bits_;
};

// One of several sequences of tokens, chosen token by token.
class TokenChoice {
public:
    void clear() { options_.clear(), at_ = 0; }
    void add(std::vector<int32_t> ids) { options_.push_back(std::move(ids)); }
    bool empty() const { return options_.empty(); }
    void add_next(TokenSet &out) const;
    void take(int32_t id);
    // The token that all sequences left have next; nothing where they differ.
    std::optional<int32_t> given() const;
    bool has_only(size_t option) const; // all others are out
    // The number of the sequence that is complete.
    std::optional<size_t> chosen() const;

private:
    std::vector<std::vector<int32_t>> options_; // emptied when another token was taken
    size_t at_ = 0;
};

} // namespace ggufx::cli
