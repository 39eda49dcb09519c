// The bytes of a vocabulary's tokens as a tree, in the order of a walk: a node's children follow it,
// and it says where what follows all of them begins. Immutable, shared by all grammars of a
// tokenizer. 12 bytes per node, 10 per byte and token.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"
#include "base/refcount.hpp"

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
    const Vector<TrieNode> &nodes() const { return nodes_; }   // the first one is the root
    const Vector<int32_t> &end_tokens() const { return end_tokens_; }
    uint32_t longest() const { return longest_; }
    const Ref<Host> &host() const { return host_; }

    void retain() { refs_.retain(); }
    void release();

private:
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
    uint32_t longest_ = 0;
};

} // namespace ggufx::grammar
