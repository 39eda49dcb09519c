// Unicode tables, 45 KiB, and their lookups.
// SPDX-License-Identifier: MIT
#include "base/unicode.hpp"

#include <algorithm>
#include <iterator>

namespace ggufx {

namespace {

struct CaseRange {
    uint32_t first, last;
    uint32_t step; // 1, or 2: every other code point
    int32_t delta;
};

struct CaseText {
    uint32_t code;
    uint32_t to[3]; // to[2] is 0 if there are two
};

struct Decomposition {
    uint32_t first, last;
    uint16_t at, n; // n of kParts for each code point
};

#include "base/unicode_tables.inc"

constexpr uint32_t kBlock = 32, kRow = kBlock * 32; // code points
constexpr uint32_t kEnd = 0x110000;
// Hangul syllables: leading consonants x vowels x trailing consonants; trailing index 0 means none.
constexpr uint32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTrails = 0x11a7;
constexpr uint32_t kVowelCount = 21, kTrailCount = 28, kSyllableCount = 19 * 21 * 28;

// Returns the last item of an ascending list with first <= code, or null.
template <class Item> const Item *last_before(const Item *list, size_t n, uint32_t code) {
    const auto after =
        std::upper_bound(list, list + n, code,
                         [](uint32_t wanted, const Item &item) { return wanted < item.first; });
    return after == list ? nullptr : after - 1;
}

template <size_t n> bool within(const CodeRange (&list)[n], uint32_t code) {
    return CodeRanges{list, n}.hold(code);
}

template <class Item, size_t n> const Item *find(const Item (&list)[n], uint32_t code) {
    const auto at =
        std::lower_bound(std::begin(list), std::end(list), code,
                         [](const Item &item, uint32_t wanted) { return item.code < wanted; });
    return at == std::end(list) || at->code != code ? nullptr : at;
}

template <size_t n> uint32_t change(const CaseRange (&list)[n], uint32_t code) {
    const CaseRange *range = last_before(list, n, code);
    if (!range || code > range->last || (code - range->first) % range->step != 0) return code;
    return code + static_cast<uint32_t>(range->delta);
}

size_t put(uint32_t out[3], const CaseText &text) {
    std::copy_n(text.to, 3, out);
    return out[2] ? 3 : 2;
}

} // namespace

const char *unicode_version() {
    return kUnicodeVersion;
}

Category category_of(uint32_t code) {
    if (code >= kEnd) return Category::Cn;
    return static_cast<Category>(
        kCategories[kBlocks[kStage[code / kRow]][code % kRow / kBlock]][code % kBlock]);
}

bool is_white_space(uint32_t code) {
    return (code >= 9 && code <= 13) || code == 0x85 || category_of(code) >= Category::Zs;
}

CodeRanges han_script() {
    return {kHan, std::size(kHan)};
}

bool CodeRanges::hold(uint32_t code) const {
    const CodeRange *range = last_before(ranges, n, code);
    return range && code <= range->last;
}

size_t decompose(uint32_t *parts, uint32_t code) {
    if (code - kSyllables < kSyllableCount) {
        const uint32_t i = code - kSyllables, trail = i % kTrailCount;
        parts[0] = kLeads + i / kTrailCount / kVowelCount;
        parts[1] = kVowels + i / kTrailCount % kVowelCount;
        parts[2] = kTrails + trail;
        return trail ? 3 : 2;
    }
    const Decomposition *run = last_before(kDecompositions, std::size(kDecompositions), code);
    if (run && code <= run->last) {
        std::copy_n(kParts + run->at + (code - run->first) * run->n, run->n, parts);
        return run->n;
    }
    parts[0] = code;
    return category_of(code) == Category::Mn ? 0 : 1;
}

uint32_t lower_case(uint32_t code) {
    return change(kLower, code);
}

size_t change_case(uint32_t out[3], uint32_t code, Case to) {
    if (code >= 0x80) {
        const CaseText *const text = to == Case::upper   ? find(kUpperTexts, code)
                                     : to == Case::lower ? find(kLowerTexts, code)
                                                         : find(kTitleTexts, code);
        if (text) return put(out, *text);
    }
    const CaseRange *const differs =
        to == Case::title ? last_before(kTitle, std::size(kTitle), code) : nullptr;
    if (differs && code <= differs->last)
        out[0] = change(kTitle, code);
    else
        out[0] = to == Case::lower ? change(kLower, code) : change(kUpper, code);
    return 1;
}

bool is_upper(uint32_t code) {
    return category_of(code) == Category::Lu || within(kOtherUpper, code);
}

bool is_lower(uint32_t code) {
    return category_of(code) == Category::Ll || within(kOtherLower, code);
}

bool is_cased(uint32_t code) {
    return category_of(code) == Category::Lt || is_upper(code) || is_lower(code);
}

bool is_case_ignorable(uint32_t code) {
    switch (category_of(code)) {
    case Category::Mn:
    case Category::Me:
    case Category::Cf:
    case Category::Lm:
    case Category::Sk:
        return true;
    default:
        return within(kOtherIgnorable, code);
    }
}

bool is_printable(uint32_t code) {
    const Category c = category_of(code);
    return code == ' ' || (c >= Category::Lu && c < Category::Zs);
}

bool is_decimal(uint32_t code) {
    return category_of(code) == Category::Nd;
}

bool is_digit(uint32_t code) {
    return is_decimal(code) || within(kDigits, code);
}

bool is_numeric(uint32_t code) {
    return is_digit(code) || within(kNumeric, code);
}

} // namespace ggufx
