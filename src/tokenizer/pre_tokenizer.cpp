// Compiles the rows to sets of classes, and runs them. See pre_tokenizer.hpp.
// SPDX-License-Identifier: MIT
#include "tokenizer/pre_tokenizer.hpp"

#include <algorithm>
#include <string.h>

namespace ggufx::model::pre {

namespace {

// A class byte: the class in the low bits, the number of a combination of lists in the high bits.
constexpr unsigned kClassBits = 5;
constexpr uint8_t kClassMask = (1 << kClassBits) - 1;
static_assert(kClasses <= 1 << kClassBits);

CharClass ascii_class(uint32_t code) {
    if (code == ' ') return kBlank;
    if (code == '\t') return kTab;
    if (code == '\r') return kCr;
    if (code == '\n') return kLf;
    if (code == '\'') return kApostrophe;
    if (code == '/') return kSlash;
    if (code == '_') return kUnderscore;
    if (code == '`') return kBacktick;
    if (code == '~') return kTilde;
    if (code >= '0' && code <= '9') return kDigit;
    if (code >= 'A' && code <= 'Z') return kAsciiUpper;
    if (code >= 'a' && code <= 'z') return kAsciiLower;
    if (is_white_space(code)) return kSpace;
    if (is_punctuation(category_of(code))) return kAsciiPunct;
    return category_of(code) == Category::Cc ? kOther : kAsciiSymbol;
}

CharClass wide_class(uint32_t code) {
    // clang-format off
    constexpr CharClass kOf[] = {  // in the order of Category
        kOther, kOther, kOther, kOther, kOther, kUpper, kTitle, kLower, kModifier, kLetter,
        kMark, kMark, kMark, kDecimal, kNumber, kNumber, kConnector, kPunct, kPunct, kPunct,
        kPunct, kPunct, kPunct, kSymbol, kSymbol, kSymbol, kSymbol, kSpace, kSpace, kSpace,
    };
    // clang-format on
    return code == 0x85 ? kSpace : kOf[static_cast<size_t>(category_of(code))];
}

constexpr size_t kNo = SIZE_MAX;

} // namespace

PreTokenizer::PreTokenizer(const Host *host, const Rules &rules)
    : compiled_(HostAllocator<Compiled>(host)) {
    std::copy(std::begin(rules.lists), std::end(rules.lists), lists_);
    if (rules.lists_han) lists_[0] = han_script();
    memset(of_lists_, 0, sizeof of_lists_);
    compile(rules);
}

void PreTokenizer::compile(const Rules &rules) {
    // Collects the combinations of lists: at the start and end of every range, and right after it.
    const auto note = [&](uint32_t code) {
        size_t held = 0;
        for (size_t i = 0; i < kMaxLists; i++) held |= size_t{lists_[i].hold(code)} << i;
        if (held && !of_lists_[held]) of_lists_[held] = n_combinations_++;
    };
    for (const CodeRanges &list : lists_) {
        for (size_t i = 0; i < list.n; i++) {
            note(list.ranges[i].first);
            note(list.ranges[i].last);
            note(list.ranges[i].last + 1);
        }
    }
    for (uint32_t code = 0; code < 128; code++)
        ascii_[code] = static_cast<uint8_t>(ascii_class(code) | class_of(code) << kClassBits);
    uint8_t lists_of[1 << (8 - kClassBits)] = {};
    for (size_t held = 1; held < 1 << kMaxLists; held++)
        if (of_lists_[held]) lists_of[of_lists_[held]] = static_cast<uint8_t>(held);
    for (const Pattern &pattern : rules.patterns) {
        if (pattern.n == 0) break;
        compiled_.emplace_back();
        Compiled &out = compiled_.back();
        out.pattern = pattern;
        for (size_t c = 0; c < 256; c++) {
            const uint8_t lists = lists_of[c >> kClassBits];
            const auto in = [&](const CharSet &set) {
                const bool held = (set.classes >> (c & kClassMask) & 1) && !(lists & set.minus);
                return held || (lists & set.plus) != 0;
            };
            out.sets[c] = 0;
            out.starts[c] = 0;
            for (size_t r = 0; r < pattern.n; r++) {
                const Row &row = pattern.rows[r];
                const bool in_part[kParts] = {in(row.prefix), in(row.head), in(row.body),
                                              in(row.tail)};
                for (size_t p = 0; p < kParts; p++)
                    out.sets[c] |= uint64_t{in_part[p]} << (kParts * r + p);
                bool starts = in_part[prefix];
                if (!row.needs_prefix) starts = starts || in_part[head] || in_part[body];
                if (row.before) starts = ascii_[static_cast<uint8_t>(row.before[0])] == c;
                out.starts[c] |= static_cast<uint16_t>(starts << r);
            }
        }
        // A continuation byte belongs to every set, like its character, and starts no match.
        out.sets[kContinuation] = UINT64_MAX;
        out.starts[kContinuation] = 0;
    }
}

// Returns the number of the character's combination of lists.
uint8_t PreTokenizer::class_of(uint32_t code) const {
    if (n_combinations_ == 1) return 0;
    size_t held = 0;
    for (size_t i = 0; i < kMaxLists && lists_[i].n; i++) held |= size_t{lists_[i].hold(code)} << i;
    return of_lists_[held];
}

void PreTokenizer::classify(Vector<uint8_t> &classes, std::string_view text) const {
    classes.resize(text.size());
    for (size_t i = 0; i < text.size();) {
        const uint8_t byte = static_cast<uint8_t>(text[i]);
        if (byte < 128) {
            classes[i++] = ascii_[byte];
            continue;
        }
        const Character c = first_character(text.substr(i));
        classes[i] =
            c.code == kBadByte
                ? uint8_t{kBadClass}
                : static_cast<uint8_t>(wide_class(c.code) | class_of(c.code) << kClassBits);
        if (c.length > 1) memset(&classes[i + 1], kContinuation, c.length - 1);
        i += c.length;
    }
}

// Matches one pattern in one piece after another.
struct PreTokenizer::Search {
    const Compiled &compiled;
    std::string_view text;
    const uint8_t *classes;
    size_t end = 0; // end of the piece
    struct Range {
        size_t from, to;
        bool holds(size_t at) const { return at >= from && at < to; }
    };
    // Digits: end of the counted run, and remaining digits in it.
    size_t counted = 0, left = 0;
    // Per row: range without a match, known from the end of the run that was scanned.
    Range nothing[kMaxRows] = {};

    bool in(size_t at, size_t row, Part part) const {
        return compiled.sets[classes[at]] >> (kParts * row + static_cast<size_t>(part)) & 1;
    }
    size_t after(size_t at) const { // the next character
        while (++at < end && classes[at] == kContinuation) {}
        return at;
    }
    size_t before(size_t at) const {
        while (classes[--at] == kContinuation) {}
        return at;
    }
    size_t run(size_t at, size_t row, Part part) const {
        while (at < end && in(at, row, part)) at++;
        return at;
    }
    // Returns the end of the pattern's match at a position, or kNo.
    size_t match(size_t at);
    size_t match_row(size_t at, size_t r);
    size_t match_run(size_t at, size_t r);
    size_t match_linked(size_t at, size_t r) const;
    size_t match_contraction(size_t at, bool any_case) const;
    size_t match_digits(size_t at, size_t r);
    bool edge_of_word(size_t at) const;
};

size_t PreTokenizer::Search::match(size_t at) {
    unsigned rows = compiled.starts[classes[at]];
    for (; rows; rows &= rows - 1) {
        const size_t to = match_row(at, static_cast<size_t>(std::countr_zero(rows)));
        if (to != kNo) return to;
    }
    return kNo;
}

size_t PreTokenizer::Search::match_row(size_t at, size_t r) {
    const Row &row = compiled.pattern.rows[r];
    if (row.shape == Shape::contraction) return match_contraction(at, row.any_case);
    if (row.shape == Shape::threes || row.shape == Shape::boundary) return match_digits(at, r);
    const auto rest = [&](size_t from) {
        if (from >= end) return kNo;
        return row.shape == Shape::linked ? match_linked(from, r) : match_run(from, r);
    };
    if (in(at, r, prefix)) {
        const size_t to = rest(after(at));
        if (to != kNo || row.needs_prefix) return to;
    }
    return row.needs_prefix ? kNo : rest(at);
}

size_t PreTokenizer::Search::match_run(size_t at, size_t r) {
    const Row &row = compiled.pattern.rows[r];
    if (row.before) {
        const std::string_view wanted = row.before;
        if (text.substr(at, std::min(wanted.size(), end - at)) != wanted) return kNo;
        at += wanted.size();
    }
    if (nothing[r].holds(at)) return kNo;
    size_t to = run(at, r, head);
    if (to < end && in(to, r, body)) {
        size_t n = 0;
        if (row.max == kMany && row.min == 1) {
            to = run(to, r, body);
        } else {
            for (; n < row.max && to < end && in(to, r, body); n++) to = after(to);
            if (n < row.min) return kNo;
        }
        if (row.ahead == Ahead::end && to < end) return nothing[r] = {at, to}, kNo;
        if (row.ahead == Ahead::space_or_end && to < end && !in(to, r, body)) {
            to = before(to); // then a space follows
            if (to == at || (n && n - 1 < row.min)) return kNo;
        }
    } else { // last body character in the run of head
        const size_t run_end = to;
        do {
            if (to == at) return nothing[r] = {at, run_end}, kNo;
            to = before(to);
        } while (!in(to, r, body));
        to = after(to);
    }
    size_t n_tail = 0;
    if (row.tail_max == kMany)
        to = run(to, r, tail);
    else
        while (n_tail++ < row.tail_max && to < end && in(to, r, tail)) to = after(to);
    if (row.contracts && to < end && (classes[to] & kClassMask) == kApostrophe) {
        const size_t longer = match_contraction(to, row.any_case);
        if (longer != kNo) to = longer;
    }
    if (row.after) {
        const std::string_view wanted = row.after;
        if (text.substr(to, std::min(wanted.size(), end - to)) != wanted) return kNo;
        to += wanted.size();
    }
    return to;
}

size_t PreTokenizer::Search::match_linked(size_t at, size_t r) const {
    if (!in(at, r, body)) return kNo;
    for (at = after(at); at < end;) {
        if (in(at, r, tail)) {
            at = after(at);
            continue;
        }
        const bool links =
            (classes[at] & kClassMask) == kBlank && at + 1 < end && in(at + 1, r, body);
        if (!links) break;
        at = after(at + 1);
    }
    return at;
}

size_t PreTokenizer::Search::match_contraction(size_t at, bool any_case) const {
    const auto letter = [&](size_t i) {
        const char c = i < end ? text[i] : '\0';
        return any_case && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 'a' - 'A') : c;
    };
    const char a = letter(at + 1), b = letter(at + 2);
    if (a == 's' || a == 't' || a == 'm' || a == 'd') return at + 2;
    if ((a == 'r' && b == 'e') || (a == 'v' && b == 'e') || (a == 'l' && b == 'l')) return at + 3;
    if (any_case && a == '\xc5' && b == '\xbf') return at + 3; // U+017F is a long s
    return kNo;
}

bool PreTokenizer::Search::edge_of_word(size_t at) const {
    if (at == end) return true;
    constexpr uint32_t kWordKinds = bit(kUpper) | bit(kTitle) | bit(kLower) | bit(kModifier) |
                                    bit(kLetter) | bit(kMark) | bit(kDecimal) | bit(kDigit) |
                                    bit(kConnector) | bit(kUnderscore) | bit(kAsciiUpper) |
                                    bit(kAsciiLower);
    const Character c = first_character(text.substr(at));
    return !(kWordKinds >> (classes[at] & kClassMask) & 1) && !(classes[at] >> kClassBits) &&
           category_of(c.code) != Category::Nl;
}

size_t PreTokenizer::Search::match_digits(size_t at, size_t r) {
    const Row &row = compiled.pattern.rows[r];
    if (at >= counted) {
        counted = run(at, r, body);
        left = 0;
        for (size_t i = at; i < counted; i++) left += classes[i] != kContinuation;
        if (row.ahead == Ahead::word_edge && !edge_of_word(counted)) left = 0;
    }
    if (row.shape == Shape::boundary) {
        const bool here = left % 3 == 0 && left > 0;
        left -= left > 0;
        return here ? at : kNo;
    }
    if (left == 0) return kNo;
    const size_t n = left % 3 ? left % 3 : 3;
    left -= n;
    for (size_t i = 0; i < n; i++) at = after(at);
    return at;
}

void PreTokenizer::split(PlaceSet &cuts, std::string_view text) const {
    Vector<uint8_t> classes(compiled_.get_allocator());
    classify(classes, text);
    cuts.reset(text.size() + 1);
    cuts.add(text.size());
    for (const Compiled &compiled : compiled_) {
        Search search{compiled, text, classes.data()};
        for (size_t start = 0, end; start < text.size(); start = end) {
            end = search.end = cuts.next(start);
            for (size_t at = start, done = start; at < end;) {
                const size_t to = search.match(at);
                if (to == kNo) {
                    at = search.after(at);
                    continue;
                }
                if (at > done) cuts.add(at);
                done = to;
                if (to > at) {
                    cuts.add(to);
                    at = to;
                } else { // an empty match splits here; continue after the next character
                    at = search.after(at);
                }
            }
        }
    }
}

} // namespace ggufx::model::pre
