// Builds the tree from the sorted texts: texts that share a node are adjacent.
// SPDX-License-Identifier: MIT
#include "tokenizer/trie.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

void Trie::build(Vector<Entry> &entries) {
    uint64_t n_bytes = 0;
    for (const Entry &entry : entries) {
        if (entry.text.size() > kMaxTrieText) {
            fail(Status::limit, {kNone, static_cast<uint64_t>(entry.id)},
                 "token %" PRId32 " has %" PRIu64
                 " bytes, the limit of its kind of vocabulary is %" PRIu32,
                 entry.id, static_cast<uint64_t>(entry.text.size()), kMaxTrieText);
        }
        n_bytes += entry.text.size();
    }
    if (n_bytes >= UINT32_MAX) fail(Status::limit, {}, "the tokens have more than 2^32 bytes");
    std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
        const int order = a.text.compare(b.text); // compares bytes as unsigned
        return order != 0 ? order < 0 : a.id < b.id;
    });
    struct Range {
        uint32_t begin, end; // range of entries
    };
    const HostAllocator<Range> allocator(first_.get_allocator());
    Vector<Range> level(allocator), next(allocator);
    level.push_back({0, static_cast<uint32_t>(entries.size())});
    byte_.assign(1, 0);
    first_.clear();
    id_.clear();
    for (size_t depth = 0; !level.empty(); depth++) {
        for (const Range &range : level) {
            uint32_t at = range.begin;
            int32_t id = -1;
            for (; at < range.end && entries[at].text.size() == depth; at++)
                if (id < 0) id = entries[at].id;
            id_.push_back(id);
            first_.push_back(static_cast<uint32_t>(byte_.size()));
            while (at < range.end) {
                const char byte = entries[at].text[depth];
                const uint32_t begin = at;
                while (at < range.end && entries[at].text[depth] == byte) at++;
                byte_.push_back(static_cast<uint8_t>(byte));
                next.push_back({begin, at});
            }
        }
        level.swap(next);
        next.clear();
    }
    first_.push_back(static_cast<uint32_t>(byte_.size()));
    std::fill(std::begin(root_), std::end(root_), 0u);
    for (uint32_t node = first_[0]; node < first_[1]; node++) root_[byte_[node]] = node;
}

uint32_t Trie::child(uint32_t node, char byte) const {
    const uint8_t wanted = static_cast<uint8_t>(byte);
    if (node == 0) return root_[wanted];
    uint32_t begin = first_[node], end = first_[node + 1];
    while (end - begin > 8) {
        const uint32_t middle = begin + (end - begin) / 2;
        if (byte_[middle] <= wanted)
            begin = middle;
        else
            end = middle;
    }
    for (; begin < end; begin++)
        if (byte_[begin] == wanted) return begin;
    return 0;
}

} // namespace ggufx::model
