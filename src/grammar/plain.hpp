// Alphabets that texts are mostly made of, and tokens, too. A vocabulary knows which of its tokens
// are so many characters of one, a program where any so many fit; the rest alone is looked for in the
// tree of tokens.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>
#include <string_view>

namespace ggufx::grammar {

enum Alphabet : uint8_t {
    kLower, // a-z
    kWord,  // letters and digits of ASCII, _
    kSolid, // plain, but for spaces and all that begins with the same byte as one
    kPlain, // what strings of JSON take as it is, but for U+007F, which some grammars leave out
    kAlphabets
};

// Between bytes of UTF-8 (without surrogates and long forms).
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
Utf8Ranges letter_bytes(Alphabet alphabet, unsigned state); // that go on with a character of it

constexpr uint32_t kForeign = UINT32_MAX;
// Characters, or kForeign where there is another one.
uint32_t count_letters(Alphabet alphabet, std::string_view text);

} // namespace ggufx::grammar
