// Tokens that are matched whole, found in a text: the longest token claims its places first, then
// the lower id, then from the left.
//
// An Aho-Corasick automaton over the reversed texts of these tokens reads the text from its end; at
// each byte it knows the longest token that starts there, and each token knows the next shorter one
// it starts with. A place whose token overlaps a claim goes on with the longest token that ends
// before the claim: it does so log(longest) times at most, as what is left of it halves.
//
// Cost: n log n in the bytes of the text, n log n in those of the tokens, whatever they are.
// With origins a control token may begin where as many bytes as it has are the template's: at each
// place that is one more search in the list of shorter ones.
// Memory: 17 bytes per byte of the tokens' texts and 36 per token, of which there are kMaxWholeBytes at most; for a
// text 5 bytes per byte, 8 for every place that is tried again and 8 for every token found.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/origin.hpp"
#include "model/tokenizer/vocab.hpp"

namespace ggufx::model {

constexpr uint64_t kMaxWholeBytes = uint64_t{64} << 20; // real vocabularies have less than 1 MiB

class WholeTokens {
public:
    // The vocabulary's tokens that are matched whole. Throws Error (limit) / std::bad_alloc.
    explicit WholeTokens(const Vocab &vocab);

    struct Piece {
        uint32_t start;
        uint32_t token; // for length() and id()
    };
    uint32_t length(const Piece &piece) const { return tokens_[piece.token].length; }
    int32_t id(const Piece &piece) const { return tokens_[piece.token].id; }

    // The user-defined tokens whose texts stand in one of the literals of a template, and which
    // tokens may then stand in a user's text. White space and single characters are no marks.
    // Linear in the literals and the tokens. Throws std::bad_alloc.
    void find_marks(Marks &out, const Vector<std::string_view> &literals) const;

    // The places claimed in `text`, of less than 2^32 bytes, in order. Control and unknown tokens
    // count with `parse_special` only; with `origin` they and its marks in the template's bytes only.
    // Throws std::bad_alloc.
    void find(Vector<Piece> &out, std::string_view text, bool parse_special,
              const Origin *origin) const;

private:
    static constexpr uint32_t kNone32 = UINT32_MAX;
    struct Whole {
        int32_t id;
        uint32_t length;
        uint32_t node = 0; // of the automaton, where its text has been read
        bool control = false;
        bool may_mark = false; // user-defined, neither white space nor a single character
    };
    // Of one token, by number: the longest shorter one that it starts with, and one further away,
    // so that any of them is found in log n steps.
    struct Shorter {
        uint32_t next = kNone32, jump = kNone32, depth = 0;
    };
    // What the automaton finds: user-defined tokens alone, or all.
    struct Matches {
        explicit Matches(const Host *host)
            : at(HostAllocator<uint32_t>(host)), shorter(HostAllocator<Shorter>(host)) {}
        uint32_t fitting(const WholeTokens &all, uint32_t token, uint32_t limit) const;
        Vector<uint32_t> at; // of a node: the longest token, or kNone32
        Vector<Shorter> shorter;
    };

    void take_tokens(const Vocab &vocab);
    void build_nodes(const Vocab &vocab);
    void link_nodes();
    void link_tokens(Matches &matches) const;
    uint32_t child(uint32_t node, uint8_t byte) const;
    uint32_t step(uint32_t node, uint8_t byte) const;
    class Rule;
    class Hits;
    template <class Hit> void scan(std::string_view text, const Rule &rule, const Hit &hit) const;

    Vector<Whole> tokens_;   // the longest first, then by id: their numbers are their ranks
    Vector<uint32_t> first_; // of a node: its first child; children of one node are neighbours
    Vector<uint32_t> fail_;  // of a node: that of its longest proper suffix
    Vector<uint8_t> byte_;   // of a node: the last one of its text
    uint32_t root_[256];     // the root's children, 0: none
    Matches user_, all_;
};

} // namespace ggufx::model
