// Regular expressions of JSON schemas (ECMA-262 with the flag u), as far as they are regular.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/json_text.hpp"
#include "grammar/regex.hpp"

namespace ggufx::grammar {

constexpr unsigned kPatternDepth = 36; // groups within groups
constexpr uint32_t kMostUnrolled = 64; // times that a group with an assertion is repeated

// Sets of characters by their property, found once.
class CharacterSets {
public:
    explicit CharacterSets(const Host *host)
        : known_(HostAllocator<std::pair<const uint64_t, Vector<Range>>>(host)) {}
    // Of general categories, bits by their number; sorted. What is given is counted, as patterns keep
    // it: throws Error (limit: over kMostRanges in all) / std::bad_alloc.
    const Vector<Range> &of(uint64_t categories);

private:
    const Vector<Range> &find(uint64_t categories);
    uint64_t n_given_ = 0;
    std::map<uint64_t, Vector<Range>, std::less<uint64_t>,
             HostAllocator<std::pair<const uint64_t, Vector<Range>>>>
        known_;
};

// What a pattern says, read once.
class Pattern {
public:
    // `what` begins errors. Throws Error (unsupported: a look behind, a back reference, \b, an
    // unknown escape; malformed; limit) / std::bad_alloc.
    Pattern(const Host *host, CharacterSets &sets, std::string_view text, const char *what);

    // Has it no assertion but ^ at the begin and $ at the end of alternatives? Then it can be written
    // as rules, however often something is repeated.
    bool is_plain() const { return plain_; }
    Node write(Syntax &syntax, JsonText &json) const; // a string, in quotes, in which it matches

    // All texts in which it matches. Where programs differ in what a space is (\s), the larger or the
    // smaller set. Throws Error (limit; unsupported: an assertion repeated without an end).
    Regex read(Regexes &regexes, bool larger) const;

private:
    friend class PatternReader;
    enum class Form : uint8_t { set, sequence, choice, repeat, begin, end, look, look_not };
    struct Part {
        Form form;
        bool asserts, has_begin; // has an assertion in it, has a ^ in it
        bool may_be_empty;
        uint32_t first, n;               // set: ranges; else children
        uint32_t first_larger, n_larger; // of a set: the larger one
        uint32_t min, max;               // of a repetition
    };
    Node write_part(Syntax &syntax, JsonText &json, uint32_t part) const;
    Node write_way(Syntax &syntax, JsonText &json, uint32_t part) const;
    Regex read_part(Regexes &regexes, uint32_t part, Regex then, bool at_begin, bool larger) const;
    Regex read_repeat(Regexes &regexes, const Part &part, Regex then, bool at_begin,
                      bool larger) const;
    static bool is_assertion(const Part &part);
    [[noreturn]] void refuse(const char *why) const;

    const char *what_;
    Vector<Part> parts_;
    Vector<uint32_t> children_;
    Vector<Range> ranges_;
    uint32_t root_ = 0;
    bool plain_ = true;
};

} // namespace ggufx::grammar
