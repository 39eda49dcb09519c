// Syntax of a grammar, independent of its notation: rules whose bodies are trees of literals, sets
// of characters, sequences, choices, repetitions and references. Readers (gbnf, schema) build it;
// compile.cpp translates it to a program.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/status.hpp"
#include "base/work.hpp"

#include <initializer_list>
#include <string_view>

namespace ggufx::grammar {

constexpr uint32_t kMany = UINT32_MAX; // unbounded repetition
constexpr uint32_t kNoNode = UINT32_MAX;
constexpr uint32_t kMostNodes = 1 << 21, kMostRanges = 1 << 23;
constexpr uint32_t kDeepest = 200; // nesting of nodes, as walks over them are recursive
constexpr uint32_t kLastCode = 0x10ffff;

using Node = uint32_t; // index of a node

enum class Form : uint8_t {
    literal,  // bytes
    set,      // one character of ranges
    sequence, // all children, in order
    choice,   // one child
    repeat,   // the child, min to max times
    members,  // children in any order, separated by the first child
    rule,     // reference to a rule
};

// Characters first .. last.
struct CharRange {
    uint32_t first, last;
};

// Numbers of a repetition, or of members.
struct SyntaxCounts {
    uint32_t min = 0, max = 0;
    // members: the first ones that are required; that appear at most once
    uint32_t n_required = 0, n_once = 0;
};

struct SyntaxNode : SyntaxCounts {
    Form form;
    // Literal: bytes. Set: ranges. Sequence, choice, members: children. Rule: first is its index.
    uint32_t first, n;
    uint32_t child; // repeat
};

struct Rule {
    uint32_t name, name_length; // in texts_
    Node body;
    uint64_t offset; // in the source, for errors
};

class Syntax {
public:
    Syntax(const Host *host, Work &work);

    // All throw Error (limit, cancelled) / std::bad_alloc.
    Node literal(std::string_view bytes);
    Node empty() { return literal({}); }
    Node set(const CharRange *ranges, size_t n); // in any order; no range: matches nothing
    Node set(std::initializer_list<CharRange> r) { return set(r.begin(), r.size()); }
    Node sequence(const Node *nodes, size_t n);
    Node sequence(std::initializer_list<Node> n) { return sequence(n.begin(), n.size()); }
    Node choice(const Node *nodes, size_t n);
    Node choice(std::initializer_list<Node> n) { return choice(n.begin(), n.size()); }
    Node repeat(Node child, uint32_t min, uint32_t max);
    Node optional(Node child) { return repeat(child, 0, 1); }
    Node rule(uint32_t number);
    // min to max items in any order, separated by `between`. The first n_once appear at most once,
    // and the first n_required of them always. No item may be empty.
    struct Members {
        Node between;
        const Node *items;
        size_t n;
        uint32_t n_required, n_once, min, max;
    };
    Node members(const Members &of);
    uint32_t add_rule(std::string_view name, uint64_t offset); // without a body yet
    void set_body(uint32_t rule, Node body) { rules_[rule].body = body; }
    void set_root(uint32_t rule) { root_ = rule; }

    uint32_t root() const { return root_; }
    const Vector<Rule> &rules() const { return rules_; }
    std::string_view name(uint32_t rule) const {
        return text(rules_[rule].name, rules_[rule].name_length);
    }
    size_t size() const { return nodes_.size(); }
    SyntaxNode operator[](Node node) const;
    std::string_view bytes(const SyntaxNode &n) const { return text(n.first, n.n); }
    const CharRange *ranges(const SyntaxNode &n) const { return ranges_.data() + n.first; }
    const Node *children(const SyntaxNode &n) const { return children_.data() + n.first; }
    const Host *host() const { return nodes_.get_allocator().host(); }
    Work &work() const { return work_; } // the whole compilation
    // The start of an error message: the part of the source that takes most work.
    const char *most_complex() const { return most_complex_; }
    void set_most_complex(const char *pointer, std::string_view keyword);

private:
    // A node as it is stored: large grammars have millions.
    struct Stored {
        Form form;
        uint8_t depth;
        // As in SyntaxNode. Repeat: index of counts_, child. Members: their index of counts_ is the
        // child before the first.
        uint32_t first, n;
    };
    static_assert(kDeepest < UINT8_MAX);
    Node add(Form form, uint32_t depth, size_t first, size_t n);
    Node group(Form form, const Node *nodes, size_t n);
    std::string_view text(uint32_t first, uint32_t n) const { return {texts_.data() + first, n}; }

    Work &work_;
    Vector<Stored> nodes_;
    Vector<SyntaxCounts> counts_;
    Vector<Node> children_;
    Vector<CharRange> ranges_;
    Vector<char> texts_;
    Vector<Rule> rules_;
    uint32_t root_ = 0;
    char most_complex_[256];
};

// Sorts and merges ranges in place. Returns their new number.
size_t merge_ranges(CharRange *ranges, size_t n);
// Appends the complement of sorted ranges.
void negate_ranges(Vector<CharRange> &out, const CharRange *ranges, size_t n);

// Throws Error; the message begins with the line and column (in characters, from 1) of `offset`.
[[noreturn]] void refuse_at(std::string_view source, uint64_t offset, Status status,
                            const char *format, ...) GGUFX_PRINTF(4, 5);

} // namespace ggufx::grammar
