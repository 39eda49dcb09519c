// Regular languages of characters, with intersection and complement: conditions on strings that
// must hold, or must not. Expressions are numbers, and equal ones are stored once. Automata are
// built from their derivatives by characters.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/automaton.hpp"
#include "grammar/syntax.hpp"

#include <array>
#include <map>

namespace ggufx::grammar {

using Regex = uint32_t;

constexpr uint32_t kMostRegexStates = 1 << 14;
constexpr uint32_t kMostRegexes = 1 << 18;   // expressions per schema
constexpr uint64_t kMostRegexWork = 1 << 22; // derivatives per schema
constexpr uint32_t kMostRegexHeight = 120;   // nesting of expressions
constexpr uint32_t kMostRegexLetters = 1 << 10;

// Alphabet of an automaton: characters that it does not distinguish are one symbol.
struct Alphabetic {
    explicit Alphabetic(const Host *host)
        : ranges(HostAllocator<CharRange>(host)), symbols(HostAllocator<uint32_t>(host)) {}
    Vector<CharRange> ranges; // ascending
    Vector<uint32_t> symbols;
    uint32_t n_symbols = 0;
};

class Regexes {
public:
    Regexes(const Host *host, Work &work);

    // All throw Error (limit) / std::bad_alloc.
    Regex none() const { return 0; }
    Regex empty() const { return 1; }
    Regex any() const { return 2; } // any string
    Regex set(const CharRange *ranges, size_t n);
    Regex text(std::string_view utf8);
    Regex sequence(Regex a, Regex b);
    Regex either(const Regex *of, size_t n) { return list(Form::either, of, n); }
    Regex either(Regex a, Regex b);
    Regex both(Regex a, Regex b);
    Regex other(Regex a); // complement
    Regex repeat(Regex a, uint32_t min, uint32_t max);

    bool has_empty(Regex a) const { return nodes_[a].has_empty; }
    bool holds(Regex a, std::string_view utf8);
    // The automaton is minimized.
    void make_automaton(Automaton &out, Alphabetic &letters, Regex a);
    bool is_none(Regex a);
    void charge(uint64_t n); // counts work of the caller
    const Host *host() const { return nodes_.get_allocator().host(); }

private:
    enum class Form : uint8_t { none, empty, set, sequence, either, both, other, repeat };
    struct RegexNode {
        Form form;
        bool has_empty;
        uint16_t height;
        // set, list: number of the list; sequence: parts; other, repeat: child, min, max
        uint32_t a, b, c;
    };
    using Numbers = Vector<uint32_t>;
    template <class Key>
    using Index =
        std::map<Key, uint32_t, std::less<Key>, HostAllocator<std::pair<const Key, uint32_t>>>;

    Regex add(Form form, bool has_empty, uint32_t height, uint32_t a, uint32_t b, uint32_t c);
    Regex list(Form form, const Regex *of, size_t n);
    uint32_t intern(Numbers &&numbers);
    Regex union_of_sets(Numbers &sets);
    Regex derive(Regex a, uint32_t code);
    Regex derive_new(Regex a, uint32_t code);
    void find_letters(Alphabetic &out, Numbers &codes, Regex a);

    Vector<RegexNode> nodes_;
    Vector<Numbers> lists_; // lists of sets have first, last, first, last, ...
    Index<std::array<uint32_t, 4>> known_;
    Index<Numbers> known_lists_;
    Index<uint64_t> derivatives_;
    Work &all_work_; // the whole compilation
    uint64_t work_ = 0;
};

} // namespace ggufx::grammar
