// A text in words that begin with U+2581, character by character: a character is what its lead byte
// says, so that no word begins within one. Runs of U+2581 stay with the word behind them.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/merges.hpp"

#include <algorithm>

namespace ggufx::model {

// Bytes of the symbol that a text, which is not empty, begins with: a character by its lead byte,
// but no byte of a U+2581 behind it, so that a space survives a character that is none.
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
        bool words = false; // something else than U+2581 stood before
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
