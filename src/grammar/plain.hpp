// Alphabets that most text and most tokens consist of. A vocabulary knows which tokens are runs of
// an alphabet, and a program where it accepts any run. Only other tokens are searched in the trie.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>
#include <string_view>

namespace ggufx::grammar {

enum Alphabet : uint8_t {
    kLower, // a-z
    kWord,  // letters and digits of ASCII, _
    kSolid, // kPlain without spaces and characters with the same first byte as one
    kPlain, // characters that JSON strings hold unescaped, without U+007F (not in all grammars)
    kAlphabets
};

// States between bytes of UTF-8 (without surrogates and overlong forms).
enum Utf8 : uint8_t { kBetween, kLast1, kLast2, kLast3, kAfterE0, kAfterEd, kAfterF0, kAfterF4 };
constexpr unsigned kUtf8States = 8;

struct Utf8Range {
    uint8_t first, last; // bytes
    Utf8 next;
};
struct Utf8Ranges {
    const Utf8Range *ranges;
    unsigned n;
    const Utf8Range *begin() const { return ranges; }
    const Utf8Range *end() const { return ranges + n; }
};
Utf8Ranges letter_bytes(Alphabet alphabet, unsigned state); // bytes that continue a character of it

constexpr uint32_t kForeign = UINT32_MAX;
// Returns the number of characters, or kForeign if one is not of the alphabet.
uint32_t count_letters(Alphabet alphabet, std::string_view text);

} // namespace ggufx::grammar
