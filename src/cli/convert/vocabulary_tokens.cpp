// Tokens of a vocabulary; see vocabulary.hpp.
// SPDX-License-Identifier: MIT
#include "convert/vocabulary.hpp"

#include <fmt/format.h>

namespace ggufx::cli {

std::optional<uint64_t> Vocabulary::find(std::string_view token) const {
    for (size_t i = 0; i < tokens.size(); i++) {
        if (tokens[i] == token) return i;
    }
    return std::nullopt;
}

void Vocabulary::add(std::string text, int32_t kind) {
    tokens.push_back(std::move(text));
    kinds.push_back(kind);
    if (model == "llama") scores.push_back(0);
}

void Vocabulary::fill(uint64_t n_tokens) {
    while (tokens.size() < n_tokens) add(fmt::format("[PAD{}]", tokens.size()), kUnused);
}

std::string spaces_for_signs(std::string text) {
    for (size_t at = 0; (at = text.find(kSpaceSign, at)) != std::string::npos; at++)
        text.replace(at, kSpaceSign.size(), " ");
    return text;
}

std::string user_defined_text(const std::string &model, const std::string &text) {
    const bool signs = model == "llama" && !text.empty();
    const std::string spaces = signs ? spaces_for_signs(text) : text;
    return spaces.find_first_not_of(' ') == std::string::npos ? spaces : text;
}

} // namespace ggufx::cli
