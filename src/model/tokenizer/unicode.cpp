// The tables, 60 KiB, and how they are looked up.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/unicode.hpp"

#include <algorithm>
#include <iterator>

namespace ggufx::model {

namespace {

struct LowerRange {
    uint32_t first, last;
    uint32_t step; // 1, or 2: every other code point
    int32_t delta;
};

struct Decomposition {
    uint32_t code;
    uint16_t at, n; // of kParts
};

#include "model/tokenizer/unicode_tables.inc"

constexpr uint32_t kBlock = 128;
constexpr uint32_t kEnd = 0x110000;
// Syllables of Hangul: leading consonants times vowels times trailing consonants, of which the
// first is none.
constexpr uint32_t kSyllables = 0xac00, kLeads = 0x1100, kVowels = 0x1161, kTrails = 0x11a7;
constexpr uint32_t kVowelCount = 21, kTrailCount = 28, kSyllableCount = 19 * 21 * 28;

// The last of an ascending list that does not begin after `code`, or null.
template <class Item, size_t n> const Item *last_before(const Item (&list)[n], uint32_t code) {
    const auto after =
        std::upper_bound(std::begin(list), std::end(list), code,
                         [](uint32_t wanted, const Item &item) { return wanted < item.first; });
    return after == std::begin(list) ? nullptr : after - 1;
}

} // namespace

const char *unicode_version() {
    return kUnicodeVersion;
}

Category category_of(uint32_t code) {
    if (code >= kEnd) return Category::Cn;
    return static_cast<Category>(kCategories[kStage[code / kBlock]][code % kBlock]);
}

bool is_white_space(uint32_t code) {
    return (code >= 9 && code <= 13) || code == 0x85 || category_of(code) >= Category::Zs;
}

uint32_t lower_case(uint32_t code) {
    const LowerRange *range = last_before(kLower, code);
    if (!range || code > range->last || (code - range->first) % range->step != 0) return code;
    return code + static_cast<uint32_t>(range->delta);
}

CodeRanges han_script() {
    return {kHan, std::size(kHan)};
}

bool CodeRanges::hold(uint32_t code) const {
    const auto after =
        std::upper_bound(ranges, ranges + n, code, [](uint32_t wanted, const CodeRange &range) {
            return wanted < range.first;
        });
    return after != ranges && code <= (after - 1)->last;
}

size_t decompose(uint32_t *parts, uint32_t code) {
    if (code - kSyllables < kSyllableCount) {
        const uint32_t i = code - kSyllables, trail = i % kTrailCount;
        parts[0] = kLeads + i / kTrailCount / kVowelCount;
        parts[1] = kVowels + i / kTrailCount % kVowelCount;
        parts[2] = kTrails + trail;
        return trail ? 3 : 2;
    }
    const auto at = std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), code,
                                     [](const Decomposition &d, uint32_t c) { return d.code < c; });
    if (at != std::end(kDecompositions) && at->code == code) {
        std::copy_n(kParts + at->at, at->n, parts);
        return at->n;
    }
    parts[0] = code;
    return category_of(code) == Category::Mn ? 0 : 1;
}

Character first_character(std::string_view text) {
    const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
    const uint32_t lead = byte(0);
    if (lead < 0x80) return {lead, 1};
    const uint32_t length = lead_length(text[0]);
    if (length == 1 || lead > 0xf4 || length > text.size()) return {kBadByte, 1};
    uint32_t code = lead & (0xffu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        if ((byte(i) & 0xc0) != 0x80) return {kBadByte, 1};
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < kLeast[length] || code >= kEnd || (code >= 0xd800 && code < 0xe000))
        return {kBadByte, 1};
    return {code, length};
}

size_t put_utf8(char out[4], uint32_t code) {
    const auto continuation = [&](uint32_t shift) {
        return static_cast<char>(0x80 | ((code >> shift) & 0x3f));
    };
    if (code < 0x80) return out[0] = static_cast<char>(code), 1;
    if (code < 0x800) {
        out[0] = static_cast<char>(0xc0 | code >> 6);
        out[1] = continuation(0);
        return 2;
    }
    if (code < 0x10000) {
        out[0] = static_cast<char>(0xe0 | code >> 12);
        out[1] = continuation(6);
        out[2] = continuation(0);
        return 3;
    }
    out[0] = static_cast<char>(0xf0 | code >> 18);
    out[1] = continuation(12);
    out[2] = continuation(6);
    out[3] = continuation(0);
    return 4;
}

} // namespace ggufx::model
