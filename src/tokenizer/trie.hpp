// Trie for prefix search: the bytes of all texts as a tree, level by level, so that the children of
// a node are adjacent. 9 bytes per node.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/vocab.hpp"

namespace ggufx::model {

// Longer texts would cost as much at every position of an untrusted text; real ones have 128 at
// most.
constexpr uint32_t kMaxTrieText = 512;

class Trie {
public:
    struct Entry {
        std::string_view text; // not empty
        int32_t id;
    };
    explicit Trie(const Host *host)
        : first_(HostAllocator<uint32_t>(host)), byte_(HostAllocator<uint8_t>(host)),
          id_(HostAllocator<int32_t>(host)) {}

    // Builds the trie; the lowest id of equal texts counts. Sorts the entries. Throws Error (limit)
    // / std::bad_alloc.
    void build(Vector<Entry> &entries);

    // Returns the child of a node for a byte, 0 when there is none; node 0 is the root.
    uint32_t child(uint32_t node, char byte) const;
    int32_t id(uint32_t node) const { return id_[node]; } // id of the text that ends here, or -1

    // Returns the id of the longest text that `text` starts with, among ids with counts(id), and
    // its length in *length; or -1.
    template <class Counts>
    int32_t longest(std::string_view text, size_t *length, const Counts &counts) const {
        int32_t found = -1;
        uint32_t node = 0;
        for (size_t i = 0; i < text.size(); i++) {
            node = child(node, text[i]);
            if (node == 0) break;
            if (id_[node] < 0 || !counts(id_[node])) continue;
            found = id_[node];
            *length = i + 1;
        }
        return found;
    }

private:
    Vector<uint32_t> first_;
    Vector<uint8_t> byte_;
    Vector<int32_t> id_;
    uint32_t root_[256] = {};
};

} // namespace ggufx::model
