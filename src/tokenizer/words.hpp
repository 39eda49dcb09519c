// Splits a text into words that start with U+2581, by characters: the lead byte decides the length,
// so that no word starts within a character. Runs of U+2581 belong to the following word.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/merges.hpp"

#include <algorithm>

namespace ggufx::model {

// Returns the bytes of the first symbol of a text that is not empty: a character by its lead byte.
// An invalid character ends before a following U+2581, so that the space survives.
inline size_t symbol_length(std::string_view text) {
    const size_t length = std::min(size_t{lead_length(text[0])}, text.size());
    for (size_t i = 1; i < length; i++)
        if (text[i] == kSpaceText[0] && text.substr(i, kSpaceText.size()) == kSpaceText) return i;
    return length;
}

class Words {
public:
    explicit Words(std::string_view text) : rest_(text) {}
    bool done() const { return rest_.empty(); }
    std::string_view next() {
        size_t at = 0;
        bool words = false; // something other than U+2581 came before
        while (at < rest_.size()) {
            const size_t length = symbol_length(rest_.substr(at));
            const bool space = rest_.substr(at, length) == kSpaceText;
            if (space && words) break;
            words = words || !space;
            at += length;
        }
        const std::string_view word = rest_.substr(0, at);
        rest_.remove_prefix(at);
        return word;
    }

private:
    std::string_view rest_;
};

} // namespace ggufx::model
