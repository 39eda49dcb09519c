// SPDX-License-Identifier: MIT
#include "serve/token_choice.hpp"

#include <algorithm>
#include <limits>

namespace ggufx::cli {

void TokenSet::add(const TokenSet &other) {
    for (size_t i = 0; i < bits_.size(); i++) bits_[i] |= other.bits_[i];
}

void TokenSet::add_all() {
    std::fill(bits_.begin(), bits_.end(), UINT32_MAX);
}

void TokenSet::add_fitting(ggufx_matcher *matcher) {
    std::vector<uint32_t> mask(bits_.size());
    call([&](ggufx_error *error) {
        return ggufx_matcher_mask(mask.data(), mask.size(), matcher, error);
    });
    for (size_t i = 0; i < bits_.size(); i++) bits_[i] |= mask[i];
}

void TokenSet::apply(std::span<float> logits) const {
    for (size_t i = 0; i < logits.size(); i++)
        if (!has(static_cast<int32_t>(i))) logits[i] = -std::numeric_limits<float>::infinity();
}

void TokenChoice::add_next(TokenSet &out) const {
    for (const auto &option : options_)
        if (at_ < option.size()) out.add(option[at_]);
}

void TokenChoice::take(int32_t id) {
    for (auto &option : options_)
        if (at_ >= option.size() || option[at_] != id) option.clear();
    at_++;
}

std::optional<int32_t> TokenChoice::given() const {
    std::optional<int32_t> out;
    for (const auto &option : options_) {
        if (at_ >= option.size()) continue;
        if (out && *out != option[at_]) return {};
        out = option[at_];
    }
    return out;
}

bool TokenChoice::has_only(size_t option) const {
    for (size_t i = 0; i < options_.size(); i++)
        if (i != option && !options_[i].empty()) return false;
    return option < options_.size() && !options_[option].empty();
}

std::optional<size_t> TokenChoice::chosen() const {
    for (size_t i = 0; i < options_.size(); i++)
        if (!options_[i].empty() && options_[i].size() == at_) return i;
    return {};
}

} // namespace ggufx::cli
