// The bytes of a vocabulary's tokens as a trie, in depth-first order: a node's children follow it,
// and `next` skips all nodes below it. Immutable, shared by all grammars of a tokenizer. Memory:
// per node 12 bytes and 4 for runs; per token 12 bytes, its text, and 9 for runs.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/refcount.hpp"
#include "grammar/plain.hpp"

#include <string_view>

namespace ggufx::grammar {

// Longer tokens are never allowed; real ones have at most 256 bytes.
constexpr uint32_t kMostTokenBytes = 512;

struct TrieNode {
    uint32_t next; // index after the last node below this one
    int32_t token; // lowest id of the tokens that end here; -1: none
    uint16_t depth;
    uint8_t byte;
};

// A trie of some of the tokens; the first node is the root.
struct Tree {
    explicit Tree(const Host *host)
        : nodes(HostAllocator<TrieNode>(host)), origins(HostAllocator<uint32_t>(host)) {}
    Vector<TrieNode> nodes;
    Vector<uint32_t> origins; // [nodes]: indices in the trie of all tokens
};

// Tokens that are runs of an alphabet (plain.hpp) are listed by their number of characters, up to
// kMostRun.
constexpr uint8_t kMostRun = 16, kLonger = 254, kForeignHere = 255;

struct Runs {
    explicit Runs(const Host *host)
        : bits(HostAllocator<uint32_t>(host)), nodes(HostAllocator<uint8_t>(host)), longer(host),
          foreign(host) {}
    // [kMostRun + 2][n_words]: runs of at most 0 .. kMostRun characters, of any number
    Vector<uint32_t> bits;
    uint32_t n_tokens[kMostRun + 2] = {};
    // Per node of the trie of all tokens: longest run among the tokens there and below;
    // kForeignHere: one of them is no run.
    Vector<uint8_t> nodes;
    Tree longer, foreign; // tokens of more than kMostRun characters; tokens with other characters
};

class Vocabulary {
public:
    explicit Vocabulary(Ref<Host> host);

    // Adds tokens in ascending order of ids. `ends`: an end-of-generation token, whose bytes are
    // ignored. Other tokens without bytes are never allowed.
    void add(std::string_view bytes, bool ends); // throws std::bad_alloc
    void build();                                // after the last add. Throws std::bad_alloc

    size_t size() const { return tokens_.size(); }
    std::string_view bytes(size_t id) const {
        return {bytes_.data() + tokens_[id].first, tokens_[id].n};
    }
    bool ends(size_t id) const { return tokens_[id].ends; }
    int32_t same(size_t id) const { return tokens_[id].same; } // next token with equal bytes, or -1
    const Vector<TrieNode> &nodes() const { return nodes_; } // trie of all tokens, like Tree::nodes
    const Runs &runs(Alphabet alphabet) const { return runs_[alphabet]; }
    size_t n_words() const { return (tokens_.size() + 31) / 32; }
    const Vector<int32_t> &end_tokens() const { return end_tokens_; }
    uint32_t longest() const { return longest_; }

    void retain() { refs_.retain(); }
    void release();

private:
    void find_runs(Alphabet alphabet);
    void pick(Tree &out, const Vector<uint8_t> &of_token, uint8_t wanted) const;
    struct Token {
        uint32_t first;
        uint16_t n;
        bool ends;
        int32_t same;
    };

    RefCount refs_;
    Ref<Host> host_;
    Vector<char> bytes_;
    Vector<Token> tokens_;
    Vector<TrieNode> nodes_;
    Vector<int32_t> end_tokens_;
    Vector<Runs> runs_; // [alphabets]
    uint32_t longest_ = 0;
};

} // namespace ggufx::grammar
