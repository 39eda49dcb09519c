// Finds tokens that are matched whole in a text: the longest token claims its bytes first, then the
// lower id, then from the left.
//
// An Aho-Corasick automaton over the reversed texts of these tokens reads the text from its end. At
// each byte it knows the longest token that starts there, and each token knows the next shorter one
// that it starts with. If the token at a position overlaps a claim, the longest token that ends
// before the claim is tried next. This happens at most log(longest) times, as the remaining length
// halves.
//
// Cost: n log n in the bytes of the text, n log n in the bytes of the tokens, for any input. With
// origins, a control token may only match if all of its bytes are the template's: one more search
// in the list of shorter tokens at each position.
// Memory: 17 bytes per byte of the tokens' texts (at most kMaxWholeBytes) and 36 per token. For a
// text 5 bytes per byte, 8 for every position that is tried again and 8 for every token found.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/origin.hpp"
#include "tokenizer/vocab.hpp"

#include <deque>
#include <optional>

namespace ggufx::model {

constexpr uint64_t kMaxWholeBytes = uint64_t{64} << 20; // real vocabularies have less than 1 MiB

class WholeTokens {
public:
    // Takes the vocabulary's tokens that are matched whole. Throws Error (limit) / std::bad_alloc.
    explicit WholeTokens(const Vocab &vocab);

    struct Piece {
        uint32_t start;
        uint32_t token; // argument for length() and id()
    };
    using Pieces = std::deque<Piece, HostAllocator<Piece>>;
    uint32_t length(const Piece &piece) const { return tokens_[piece.token].length; }
    int32_t id(const Piece &piece) const { return tokens_[piece.token].id; }

    // Finds marker tokens: user-defined tokens whose texts occur in a literal of a template, and
    // the tokens that may then be in a user's text. White space and single characters are no
    // markers. Linear in the literals and the tokens. Throws std::bad_alloc.
    void find_marks(Marks &out, const Vector<std::string_view> &literals) const;

    // Finds the claimed pieces of `text` (less than 2^32 bytes), in order; none if no token occurs.
    // Control and unknown tokens count with `parse_special` only. With `origin`, they and its marker
    // tokens count in the template's bytes only. Throws std::bad_alloc.
    std::optional<Pieces> find(std::string_view text, bool parse_special,
                               const Origin *origin) const;

private:
    static constexpr uint32_t kNone32 = UINT32_MAX;
    struct Whole {
        int32_t id;
        uint32_t length;
        uint32_t node = 0; // node of the automaton after its text
        bool control = false;
        bool may_mark = false; // user-defined, neither white space nor a single character
    };
    // Shorter prefix tokens of a token: the longest one, and one further away, so that any of them
    // is found in log n steps.
    struct Shorter {
        uint32_t next = kNone32, jump = kNone32, depth = 0;
    };
    // Matches of the automaton: user-defined tokens only, or all.
    struct Matches {
        explicit Matches(const Host *host)
            : at(HostAllocator<uint32_t>(host)), shorter(HostAllocator<Shorter>(host)) {}
        uint32_t fitting(const WholeTokens &all, uint32_t token, uint32_t limit) const;
        Vector<uint32_t> at; // longest token at each node, or kNone32
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

    Vector<Whole> tokens_;   // longest first, then by id: the index is the rank
    Vector<uint32_t> first_; // first child of each node; the children of a node are adjacent
    Vector<uint32_t> fail_;  // failure link of each node: its longest proper suffix
    Vector<uint8_t> byte_;   // last byte of each node's text
    uint32_t root_[256];     // children of the root, 0: none
    Matches user_, all_;
};

} // namespace ggufx::model
