// Constraints on the next token: a set of ids, or one of several token sequences.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/grammar_choice.hpp"

#include <optional>
#include <span>

namespace ggufx::cli {

// Set of token ids.
class TokenSet {
public:
    explicit TokenSet(size_t n_vocab = 0) : bits_((n_vocab + 31) / 32) {}
    void add(int32_t id) { bits_[static_cast<size_t>(id) / 32] |= uint32_t{1} << id % 32; }
    void remove(int32_t id) { bits_[static_cast<size_t>(id) / 32] &= ~(uint32_t{1} << id % 32); }
    bool has(int32_t id) const { return (bits_[static_cast<size_t>(id) / 32] >> id % 32 & 1) != 0; }
    void add(const TokenSet &other);
    void add_fitting(ggufx_matcher *matcher); // adds the tokens that the matcher accepts next
    void add_all();
    // Sets the logits of all other tokens to -inf.
    void apply(std::span<float> logits) const;

private:
    std::vector<uint32_t> bits_;
};

// Choice among several token sequences, made token by token.
class TokenChoice {
public:
    void clear() { options_.clear(), at_ = 0; }
    void add(std::vector<int32_t> ids) { options_.push_back(std::move(ids)); }
    bool empty() const { return options_.empty(); }
    void add_next(TokenSet &out) const;
    void take(int32_t id);
    // Returns the next token common to all remaining sequences; empty if they differ.
    std::optional<int32_t> given() const;
    bool has_only(size_t option) const; // all other options are excluded
    // Returns the index of the completed sequence.
    std::optional<size_t> chosen() const;

private:
    std::vector<std::vector<int32_t>> options_; // an excluded option is empty
    size_t at_ = 0;
};

} // namespace ggufx::cli
