// Merges symbols by rank: repeatedly joins the adjacent pair whose merge has the lowest rank, the
// leftmost among equals.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/merges.hpp"

namespace ggufx::model {

// Working memory of merging, reused for each piece.
class RankMerger {
public:
    RankMerger(const Merges &merges, const Host *host)
        : merges_(merges), parts_(HostAllocator<Part>(host)),
          heap_(HostAllocator<Candidate>(host)) {}
    struct Part {
        Symbol symbol;
        uint32_t length; // bytes of the text
        uint32_t rank;   // rank of the merge with the next symbol
        Symbol joined;   // result of that merge
    };
    void clear() { parts_.clear(); }
    void add(Symbol symbol, uint32_t length) { parts_.push_back({symbol, length, kNone, 0}); }
    // Merges in O(n log n). No merge yields refused controls. Throws std::bad_alloc.
    void run(Controls controls);
    bool has_refused(Controls controls) const; // among the parts
    const Vector<Part> &parts() const { return parts_; }

private:
    static constexpr uint32_t kNone = UINT32_MAX;
    static constexpr size_t kFew = 40; // up to this many symbols are merged without a heap
    struct Candidate {
        uint64_t order; // rank, then position of the left symbol
        Symbol left, right;
    };
    // Linked list in parts_: a removed part has the previous one in `rank`, the next in `joined`.
    void find(Part &left, const Part &right) const;
    const Merge *merge_of(Symbol left, Symbol right) const;
    void run_few();
    void run_many();
    void propose(uint32_t left, uint32_t right);

    const Merges &merges_;
    Controls controls_;
    Vector<Part> parts_;
    Vector<Candidate> heap_;
};

} // namespace ggufx::model
