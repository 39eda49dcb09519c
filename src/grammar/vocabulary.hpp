// The bytes of a vocabulary's tokens as a tree, in the order of a walk: a node's children follow it,
// and it says where what follows all of them begins. Immutable, shared by all grammars of a
// tokenizer. 12 bytes per node, 4 per node for runs; 10 per byte and token, 9 for runs.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/refcount.hpp"
#include "grammar/plain.hpp"

#include <string_view>

namespace ggufx::grammar {

// Longer tokens are never allowed; real ones have 256 at most.
constexpr uint32_t kMostTokenBytes = 512;

struct TrieNode {
    uint32_t next; // behind the last node below this one
    int32_t token; // whose bytes end here, the lowest id of equals; -1: none
    uint16_t depth;
    uint8_t byte;
};

// A tree of some of the tokens; the first node is the root.
struct Tree {
    explicit Tree(const Host *host)
        : nodes(HostAllocator<TrieNode>(host)), origins(HostAllocator<uint32_t>(host)) {}
    Vector<TrieNode> nodes;
    Vector<uint32_t> origins; // the nodes' numbers in the tree of all tokens
};

// Tokens of one alphabet's characters alone (plain.hpp) are listed by their number, to this one.
constexpr uint8_t kMostRun = 16, kLonger = 254, kForeignHere = 255;

struct Runs {
    explicit Runs(const Host *host)
        : bits(HostAllocator<uint32_t>(host)), nodes(HostAllocator<uint8_t>(host)), longer(host),
          foreign(host) {}
    Vector<uint32_t> bits; // [kMostRun + 2][n_words]: 0 to kMostRun, any number
    uint32_t n_tokens[kMostRun + 2] = {};
    // Of the tree of all tokens: the most characters of tokens there and below; kForeignHere: others
    // are among them.
    Vector<uint8_t> nodes;
    Tree longer, foreign; // tokens of more than kMostRun characters, those that have others
};

class Vocabulary {
public:
    explicit Vocabulary(Ref<Host> host);

    // In ascending order of ids. `ends`: a text may end with it, its bytes do not count. Tokens
    // that are not added, or have no bytes, fit nothing.
    void add(std::string_view bytes, bool ends); // throws std::bad_alloc
    void build();                                // behind the last add. Throws std::bad_alloc

    size_t size() const { return tokens_.size(); }
    std::string_view bytes(size_t id) const {
        return {bytes_.data() + tokens_[id].first, tokens_[id].n};
    }
    bool ends(size_t id) const { return tokens_[id].ends; }
    int32_t same(size_t id) const { return tokens_[id].same; } // next one of equal bytes, or -1
    const Vector<TrieNode> &nodes() const { return nodes_; }   // of all, as those of a Tree
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
    Vector<Runs> runs_; // of alphabets
    uint32_t longest_ = 0;
};

} // namespace ggufx::grammar
