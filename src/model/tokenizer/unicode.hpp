// What tokenizers ask of Unicode: category, lower case and decomposition of a code point, and code
// points of UTF-8. The tables are those of one version of Unicode (unicode_version()).
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::model {

// General category, in the order of make_unicode.py.
enum class Category : uint8_t {
    // clang-format off
    Cn, Cc, Cf, Co, Cs, Lu, Lt, Ll, Lm, Lo, Mn, Mc, Me, Nd, Nl, No,
    Pc, Pd, Ps, Pe, Pi, Pf, Po, Sm, Sc, Sk, So, Zs, Zl, Zp,
    // clang-format on
};

struct CodeRange {
    uint32_t first, last;
};

struct CodeRanges {
    const CodeRange *ranges; // ascending
    size_t n;
    bool hold(uint32_t code) const;
};

Category category_of(uint32_t code); // below 0x110000
bool is_white_space(uint32_t code);  // the property White_Space
uint32_t lower_case(uint32_t code);  // the simple mapping
CodeRanges han_script();
const char *unicode_version(); // "15.0.0"

inline bool is_punctuation(Category c) {
    return c >= Category::Pc && c <= Category::Po;
}

// The canonical decomposition without its nonspacing marks (Mn); how many of at most kMaxParts.
// Marks are not reordered: of what stays, only a few signs of musical notation would be.
constexpr size_t kMaxParts = 4;
size_t decompose(uint32_t *parts, uint32_t code);

// A character of UTF-8 at the begin of a text that is not empty. A byte that begins none (also of
// surrogates, overlong forms and code points above 0x10ffff) stands alone, as kBadByte.
constexpr uint32_t kBadByte = UINT32_MAX;
struct Character {
    uint32_t code;
    uint32_t length;
};
Character first_character(std::string_view text);

size_t put_utf8(char out[4], uint32_t code); // how many bytes

// Bytes that a character has by its lead byte alone; continuation bytes stand for themselves.
inline uint32_t lead_length(char lead) {
    const uint8_t c = static_cast<uint8_t>(lead);
    return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

} // namespace ggufx::model
