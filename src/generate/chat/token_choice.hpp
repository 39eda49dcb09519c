// Constraints on the next token: a set of tokens, or one of several sequences of tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include "generate/parts.hpp"

#include <optional>

namespace ggufx::generate {

using TokenIds = Vector<int32_t>;

class TokenSet {
public:
    TokenSet(const Host *host, size_t n_tokens)
        : bits_((n_tokens + 31) / 32, 0, HostAllocator<uint32_t>(host)), n_tokens_(n_tokens) {}

    void clear() { std::fill(bits_.begin(), bits_.end(), 0); }
    void add(int32_t id) { bits_[static_cast<size_t>(id) / 32] |= uint32_t{1} << id % 32; }
    void remove(int32_t id) { bits_[static_cast<size_t>(id) / 32] &= ~(uint32_t{1} << id % 32); }
    void add(const sampling::Allowed &more) {
        const size_t n = std::min(bits_.size(), (more.n_tokens + 31) / 32);
        for (size_t i = 0; i < n; i++) bits_[i] |= more.bits[i];
    }
    sampling::Allowed allowed() const { return {bits_.data(), n_tokens_}; }

private:
    Vector<uint32_t> bits_;
    size_t n_tokens_;
};

// A choice among several sequences of tokens, made token by token.
class TokenChoice {
public:
    explicit TokenChoice(const Host *host) : options_(HostAllocator<TokenIds>(host)) {}

    void clear() { options_.clear(), at_ = 0; }
    void add(TokenIds ids) { options_.push_back(std::move(ids)); }
    bool empty() const { return options_.empty(); }
    void add_next(TokenSet &out) const {
        for (const TokenIds &option : options_)
            if (at_ < option.size()) out.add(option[at_]);
    }
    void take(int32_t id) {
        for (TokenIds &option : options_)
            if (at_ >= option.size() || option[at_] != id) option.clear();
        at_++;
    }
    // Returns the next token common to all remaining sequences; none if they differ.
    std::optional<int32_t> given() const {
        std::optional<int32_t> out;
        for (const TokenIds &option : options_) {
            if (at_ >= option.size()) continue;
            if (out && *out != option[at_]) return {};
            out = option[at_];
        }
        return out;
    }
    bool has_only(size_t option) const { // all other options are excluded
        for (size_t i = 0; i < options_.size(); i++)
            if (i != option && !options_[i].empty()) return false;
        return option < options_.size() && !options_[option].empty();
    }
    // Returns the index of the completed sequence.
    std::optional<size_t> chosen() const {
        for (size_t i = 0; i < options_.size(); i++)
            if (!options_[i].empty() && options_[i].size() == at_) return i;
        return {};
    }

private:
    Vector<TokenIds> options_; // an excluded option is empty
    size_t at_ = 0;
};

} // namespace ggufx::generate
