// Pre-tokenizer: splits a text into the pieces that byte-level BPE merges, by a rule set.
//
// Every byte of the text gets a class; then each pattern runs over the pieces of the previous one
// from left to right. At a character the rows are tried in order. Each row scans forward and steps
// back at most once. No recursion; memory: the classes (1 byte per byte of text) and the cuts (1
// bit).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "model/tokenizer/pre_rules.hpp"

#include <bit>

namespace ggufx::model::pre {

// Ends of pieces in a text, a bit per byte.
class Cuts {
public:
    explicit Cuts(const Host *host) : words_(HostAllocator<uint64_t>(host)) {}
    void reset(size_t n_bytes) { words_.assign(n_bytes / 64 + 1, 0); }
    void add(size_t place) { words_[place / 64] |= uint64_t{1} << place % 64; }
    // Returns the first end after `place`; there must be one.
    size_t next(size_t place) const {
        size_t word = ++place / 64;
        uint64_t bits = words_[word] >> place % 64 << place % 64;
        while (!bits) bits = words_[++word];
        return word * 64 + static_cast<size_t>(std::countr_zero(bits));
    }

private:
    Vector<uint64_t> words_;
};

class PreTokenizer {
public:
    // Throws std::bad_alloc.
    PreTokenizer(const Host *host, const Rules &rules);

    // Adds the ends of the pieces, including that of the text, which must not be empty. Throws
    // std::bad_alloc.
    void split(Cuts &cuts, std::string_view text) const;

private:
    // Parts of a row, each a set of characters: a bit in Compiled::sets.
    enum Part { prefix, head, body, tail, kParts };
    struct Compiled {
        Pattern pattern;
        uint64_t sets[256];   // by class and lists: bit kParts * row + part
        uint16_t starts[256]; // rows that may start with the class
    };
    struct Search;

    void compile(const Rules &rules);
    uint8_t class_of(uint32_t code) const;
    void classify(Vector<uint8_t> &classes, std::string_view text) const;

    CodeRanges lists_[kMaxLists];
    uint8_t of_lists_[1 << kMaxLists]; // number of each combination of lists, 0: none
    uint8_t n_combinations_ = 1;
    uint8_t ascii_[128];
    Vector<Compiled> compiled_;
};

} // namespace ggufx::model::pre
