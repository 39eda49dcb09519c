// Merging of adjacent symbols: repeatedly joins the pair with the lowest rank, the leftmost among
// equals. A few symbols are scanned for it each time; many are a set of starts with a queue.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/place_set.hpp"

#include <algorithm>
#include <functional>

namespace ggufx::model {

constexpr uint32_t kNoRank = UINT32_MAX; // the pair is not joined
constexpr size_t kFewSymbols = 40;       // up to this many are merged without a queue

// Pairs in the order of ranks, then positions, with room for a quarter of the symbols, or for all
// pairs of a short text. A full queue drops its last quarter, and all later pairs until the next
// scan of the symbols. A join removes at most three pairs and adds two. So each scan of a full
// queue leads to joins of a fixed part of the symbols, and the number of scans is bounded.
//
// A pair that has changed since stays in the queue. Symbols with such pairs are known, so that no
// other pair is looked up again.
class MergeQueue {
public:
    struct Pair {
        uint32_t rank, left; // left: start of its left symbol
    };
    explicit MergeQueue(const Host *host) : heap_(HostAllocator<uint64_t>(host)), changed_(host) {}

    // Makes room for the pairs of a text, whose symbols start at positions below n_places. Throws
    // std::bad_alloc.
    void start(size_t n_symbols, size_t n_places) {
        n_places_ = n_places;
        room_ = std::max(std::min(2 * n_symbols, kShort), n_symbols / 4);
        heap_.clear();
        heap_.reserve(std::max(room_, kKept));
    }
    // Frees memory, except what short texts need.
    void release() {
        if (heap_.capacity() <= kKept) return;
        heap_.clear();
        heap_.shrink_to_fit();
    }

    void begin_scan() {
        changed_.reset(n_places_);
        limit_ = UINT64_MAX;
        scans_ = true;
    }
    void end_scan() {
        std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
        scans_ = false;
    }
    void set_changed(size_t left) { changed_.add(left); }
    bool may_have_changed(size_t left) const { return changed_.hold(left); }
    // Returns whether pairs are missing after the queue is empty.
    bool is_cut() const { return limit_ != UINT64_MAX; }

    void push(Pair pair) {
        const uint64_t order = uint64_t{pair.rank} << 32 | pair.left;
        if (order >= limit_) return;
        if (heap_.size() == room_) {
            cut();
            if (order >= limit_) return;
        }
        heap_.push_back(order);
        if (!scans_) std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
    }
    bool pop(Pair *pair) {
        if (heap_.empty()) return false;
        *pair = {static_cast<uint32_t>(heap_[0] >> 32), static_cast<uint32_t>(heap_[0])};
        const uint64_t last = heap_.back();
        heap_.pop_back();
        if (!heap_.empty()) replace_top(last);
        return true;
    }

private:
    static constexpr size_t kShort = 1 << 16; // 512 KiB; scans would cost more time than memory
    static constexpr size_t kKept = 1024;

    void cut() {
        const auto rest = heap_.begin() + static_cast<ptrdiff_t>(room_ - room_ / 4);
        std::nth_element(heap_.begin(), rest, heap_.end());
        limit_ = *rest;
        heap_.erase(rest, heap_.end());
        if (!scans_) end_scan();
    }

    // As std::pop_heap, but without a branch for the lower child, which is wrong half of the time.
    void replace_top(uint64_t order) {
        const size_t n = heap_.size();
        size_t hole = 0;
        for (size_t child = 1; child < n; child = 2 * hole + 1) {
            const size_t right = child + (child + 1 < n);
            child += heap_[right] < heap_[child];
            heap_[hole] = heap_[child];
            hole = child;
        }
        for (size_t parent; hole > 0 && order < heap_[parent = (hole - 1) / 2]; hole = parent)
            heap_[hole] = heap_[parent];
        heap_[hole] = order;
    }

    Vector<uint64_t> heap_; // rank, left: the lowest on top
    PlaceSet changed_;      // symbols whose pair has changed since the scan, except by its join
    size_t room_ = 0, n_places_ = 0;
    uint64_t limit_ = UINT64_MAX; // this pair and later ones are not in the queue
    bool scans_ = false;
};

// Merges the symbols that start at `starts`, the end of the text included. rank_of(left, right,
// end) is the rank of a pair that ends at `end`, or kNoRank. join(left, right, found) lets the left
// symbol be the pair; found: rank_of() was called before for this pair. O(n log n) calls; throws as
// they do.
template <class RankOf, class Join>
void merge_many(MergeQueue &queue, PlaceSet &starts, size_t n, const RankOf &rank_of,
                const Join &join) {
    const auto propose = [&](size_t left, size_t right, size_t end) {
        const uint32_t rank = rank_of(left, right, end);
        if (rank != kNoRank) queue.push({rank, static_cast<uint32_t>(left)});
    };
    do {
        queue.begin_scan();
        for (size_t left = 0, right = starts.next(0), end; right < n; left = right, right = end) {
            end = starts.next(right);
            propose(left, right, end);
        }
        queue.end_scan();
        for (MergeQueue::Pair best; queue.pop(&best);) {
            const size_t left = best.left;
            if (!starts.hold(left)) continue;
            const size_t right = starts.next(left);
            if (right == n) continue;
            const size_t end = starts.next(right);
            const bool looks = queue.may_have_changed(left);
            if (looks && rank_of(left, right, end) != best.rank) continue;
            join(left, right, looks);
            starts.remove(right);
            if (left > 0) {
                const size_t before = starts.previous(left);
                queue.set_changed(before);
                propose(before, left, end);
            }
            if (end < n) propose(left, end, starts.next(end));
        }
    } while (queue.is_cut());
}

// Merges parts with the fields `length`, `rank` (of the pair with the next part) and `symbol`, with
// `joined` for the symbol of that pair. find(left, right) sets rank and joined.
template <class Part, class Find> void merge_few(Vector<Part> &parts, const Find &find) {
    for (size_t i = 0; i + 1 < parts.size(); i++) find(parts[i], parts[i + 1]);
    for (;;) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < parts.size(); i++)
            if (parts[i].rank < parts[best].rank) best = i;
        if (best + 1 >= parts.size() || parts[best].rank == kNoRank) return;
        Part &left = parts[best];
        left.symbol = left.joined;
        left.length += parts[best + 1].length;
        left.rank = kNoRank;
        parts.erase(parts.begin() + static_cast<ptrdiff_t>(best) + 1);
        if (best + 1 < parts.size()) find(parts[best], parts[best + 1]);
        if (best > 0) find(parts[best - 1], parts[best]);
    }
}

} // namespace ggufx::model
