// Unicode properties of code points, for tokenizers and chat templates. The tables are those of one
// Unicode version (unicode_version()).
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx {

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

Category category_of(uint32_t code); // above 0x10ffff: Cn
bool is_white_space(uint32_t code);  // the property White_Space
CodeRanges han_script();
const char *unicode_version(); // "15.0.0"

inline bool is_punctuation(Category c) {
    return c >= Category::Pc && c <= Category::Po;
}
inline bool is_letter(Category c) {
    return c >= Category::Lu && c <= Category::Lo;
}

inline bool is_alpha(uint32_t code) {
    return is_letter(category_of(code));
}

// Stores the canonical decomposition without its nonspacing marks (Mn). Returns its length, at most
// kMaxParts. Marks are not reordered, which affects only a few musical symbols.
constexpr size_t kMaxParts = 4;
size_t decompose(uint32_t *parts, uint32_t code);

uint32_t lower_case(uint32_t code); // the simple mapping

// Stores the full case mapping without conditions. Returns its length: one to three code points.
enum class Case { upper, lower, title };
size_t change_case(uint32_t out[3], uint32_t code, Case to);

// The properties Uppercase, Lowercase, Cased, Case_Ignorable.
bool is_upper(uint32_t code);
bool is_lower(uint32_t code);
bool is_cased(uint32_t code);
bool is_case_ignorable(uint32_t code); // between letters, it ends no word (final sigma)

// As Python's isprintable: no separator except the space, and no category Other.
bool is_printable(uint32_t code);

// As Python's isdecimal, isdigit and isnumeric: Numeric_Type; each includes the ones before.
bool is_decimal(uint32_t code);
bool is_digit(uint32_t code);
bool is_numeric(uint32_t code);

} // namespace ggufx
