// Regular expressions of JSON Schema (ECMA-262 with the flag u), as far as they are regular.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/json_text.hpp"
#include "grammar/regex.hpp"

namespace ggufx::grammar {

constexpr unsigned kPatternDepth = 36; // nesting of groups
constexpr uint32_t kMostUnrolled = 64; // repetitions of a group with an assertion

// Sets of characters by Unicode property, cached.
class CharacterSets {
public:
    explicit CharacterSets(const Host *host)
        : known_(HostAllocator<std::pair<const uint64_t, Vector<CharRange>>>(host)) {}
    // Returns the sorted characters of general categories, bits by their number. Returned ranges
    // are counted, as patterns keep them. Throws Error (limit: over kMostRanges in all) /
    // std::bad_alloc.
    const Vector<CharRange> &of(uint64_t categories);

private:
    const Vector<CharRange> &find(uint64_t categories);
    uint64_t n_given_ = 0;
    std::map<uint64_t, Vector<CharRange>, std::less<uint64_t>,
             HostAllocator<std::pair<const uint64_t, Vector<CharRange>>>>
        known_;
};

// A parsed pattern.
class Pattern {
public:
    // `what` begins error messages. Throws Error (unsupported: lookbehind, back reference, \b,
    // unknown escape; malformed; limit) / std::bad_alloc.
    Pattern(const Host *host, CharacterSets &sets, std::string_view text, const char *what);

    // Whether the only assertions are ^ at the start and $ at the end of alternatives. Then it can
    // be written as rules, however often something is repeated.
    bool is_plain() const { return plain_; }
    Node write(Syntax &syntax, JsonText &json) const; // quoted strings in which it matches

    // Returns the strings in which it matches. Programs differ on \s: `larger` selects the larger
    // set. Throws Error (limit; unsupported: an assertion in an unbounded repetition).
    Regex read(Regexes &regexes, bool larger) const;

private:
    friend class PatternReader;
    enum class Form : uint8_t { set, sequence, choice, repeat, begin, end, look, look_not };
    struct Part {
        Form form;
        bool asserts, has_begin; // contains an assertion, contains a ^
        bool may_be_empty;
        uint32_t first, n;               // set: ranges; else children
        uint32_t first_larger, n_larger; // set: the larger one
        uint32_t min, max;               // repetition
    };
    Node write_part(Syntax &syntax, JsonText &json, uint32_t part) const;
    Node write_alternative(Syntax &syntax, JsonText &json, uint32_t part) const;
    Regex read_part(Regexes &regexes, uint32_t part, Regex then, bool at_begin, bool larger) const;
    Regex read_repeat(Regexes &regexes, const Part &part, Regex then, bool at_begin,
                      bool larger) const;
    static bool is_assertion(const Part &part);
    [[noreturn]] void refuse(const char *why) const;

    const char *what_;
    Vector<Part> parts_;
    Vector<uint32_t> children_;
    Vector<CharRange> ranges_;
    uint32_t root_ = 0;
    bool plain_ = true;
};

} // namespace ggufx::grammar
