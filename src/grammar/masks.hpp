// Tokens allowed at a position of a grammar, as far as the tops of its stacks decide. A mask is
// computed once by a walk through the vocabulary, then cached for all sequences. Tokens that
// continue below a cut stack are left to the caller, as trie nodes at which the tops have ended.
// SPDX-License-Identifier: MIT
#pragma once

#include "grammar/pushdown.hpp"
#include "grammar/vocabulary.hpp"

#include <atomic>

namespace ggufx::grammar {

// Limit of nodes below the leaves of a mask; beyond it the position is cut deeper.
constexpr uint32_t kMostBelow = 4096;
constexpr size_t kFewWords = 256; // at most so many nonzero words of bits are stored as a list

struct Mask {
    explicit Mask(const Host *host)
        : key(HostAllocator<uint32_t>(host)), bits(HostAllocator<uint32_t>(host)),
          few(HostAllocator<Word>(host)), leaves(HostAllocator<uint32_t>(host)) {}
    struct Word {
        uint32_t at, bits;
    };
    void add_to(uint32_t *out) const {
        for (size_t i = 0; i < bits.size(); i++) out[i] |= bits[i];
        for (const Word &word : few) out[word.at] |= word.bits;
    }
    void list_few(); // if they are at most kFewWords. Throws std::bad_alloc

    Vector<uint32_t> key; // PushdownAutomaton::describe
    uint64_t hash = 0;
    Vector<uint32_t> bits; // a bit per token; empty if listed
    Vector<Word> few;
    Vector<uint32_t> leaves; // trie nodes with others below them
    uint32_t n_below = 0;    // nodes below the leaves
    bool crowded = false;    // n_below exceeds kMostBelow: no bits
    Mask *next = nullptr;    // in a bucket of the cache
};

inline void allow(uint32_t *bits, const Vocabulary &vocabulary, int32_t id) {
    for (; id >= 0; id = vocabulary.same(static_cast<size_t>(id)))
        bits[id / 32] |= uint32_t{1} << id % 32;
}

// Calls visit(node number, position) for the nodes below `top` whose bytes are accepted from
// `place`. A visit that returns false leaves out the nodes below; skip(number) also leaves out the
// node itself. Throws like PushdownAutomaton::step.
template <class Skip, class Visit>
void walk(PushdownAutomaton &machine, const Vector<TrieNode> &tree, uint32_t top, Position position,
          Position *positions, Skip &&skip, Visit &&visit) {
    const TrieNode *const nodes = tree.data();
    const uint32_t end = nodes[top].next, base = nodes[top].depth;
    positions[0] = position;
    for (uint32_t i = top + 1; i < end;) {
        const TrieNode &node = nodes[i];
        if (skip(i)) {
            i = node.next;
            continue;
        }
        const Position next = machine.step(positions[node.depth - base - 1], node.byte);
        if (next == kNowhere || !visit(i, next)) {
            i = node.next;
        } else {
            positions[node.depth - base] = next;
            i++;
        }
    }
}
template <class Visit>
void walk(PushdownAutomaton &machine, const Vector<TrieNode> &tree, uint32_t top, Position position,
          Position *positions, Visit &&visit) {
    walk(
        machine, tree, top, position, positions, [](uint32_t) { return false; }, visit);
}

// Masks that all matchers of a grammar share. They are only added, up to a limit, so no lock is
// needed.
class MaskCache {
public:
    explicit MaskCache(Ref<Host> host) : host_(std::move(host)) {}
    ~MaskCache();
    MaskCache(const MaskCache &) = delete;
    MaskCache &operator=(const MaskCache &) = delete;

    const Mask *find(const Vector<uint32_t> &key, uint64_t hash) const; // null if there is none
    // Takes the mask if there is room, else returns false.
    bool add(Mask *mask);

private:
    static constexpr size_t kBuckets = 256;
    static constexpr uint64_t kMostBytes = 64 << 20;
    Ref<Host> host_;
    std::atomic<Mask *> buckets_[kBuckets] = {};
    std::atomic<uint64_t> n_bytes_{0};
};

} // namespace ggufx::grammar
