// Pre-tokenizer: splits a text into the pieces that byte-level BPE merges, by a rule set.
//
// Every byte of the text gets a class; then each pattern runs over the pieces of the previous one
// from left to right. At a character the rows are tried in order. Each row scans forward and steps
// back at most once. No recursion; memory: the classes (1 byte per byte of text) and the cuts (1
// bit).
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/place_set.hpp"
#include "tokenizer/pre_rules.hpp"

namespace ggufx::model::pre {

class PreTokenizer {
public:
    // Throws std::bad_alloc.
    PreTokenizer(const Host *host, const Rules &rules);

    // Adds the ends of the pieces, including that of the text, which must not be empty. Throws
    // std::bad_alloc.
    void split(PlaceSet &cuts, std::string_view text) const;

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
