// A few symbols are scanned for the lowest rank each time. Many are kept in a linked list, with
// candidates in a heap; a candidate whose pair changed is recognized by its symbols and dropped.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/rank_merger.hpp"

#include <algorithm>

namespace ggufx::model {

void RankMerger::run(Controls controls) {
    controls_ = controls;
    if (parts_.size() <= kFew)
        run_few();
    else
        run_many();
}

bool RankMerger::has_refused(Controls controls) const {
    return std::any_of(parts_.begin(), parts_.end(),
                       [&](const Part &part) { return merges_.is_refused(part.symbol, controls); });
}

const Merge *RankMerger::merge_of(Symbol left, Symbol right) const {
    const Merge *merge = merges_.find(left, right);
    const bool refused = merge && merges_.is_refused(merge->joined, controls_);
    return refused ? nullptr : merge;
}

void RankMerger::find(Part &left, const Part &right) const {
    const Merge *merge = merge_of(left.symbol, right.symbol);
    left.rank = merge ? merge->rank : kNone;
    left.joined = merge ? merge->joined : 0;
}

void RankMerger::run_few() {
    for (size_t i = 0; i + 1 < parts_.size(); i++) find(parts_[i], parts_[i + 1]);
    for (;;) {
        size_t best = 0;
        for (size_t i = 1; i + 1 < parts_.size(); i++)
            if (parts_[i].rank < parts_[best].rank) best = i;
        if (best + 1 >= parts_.size() || parts_[best].rank == kNone) return;
        Part &left = parts_[best];
        left.symbol = left.joined;
        left.length += parts_[best + 1].length;
        left.rank = kNone;
        parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(best) + 1);
        if (best + 1 < parts_.size()) find(parts_[best], parts_[best + 1]);
        if (best > 0) find(parts_[best - 1], parts_[best]);
    }
}

void RankMerger::propose(uint32_t left, uint32_t right) {
    if (left == kNone || right == kNone) return;
    const Symbol a = parts_[left].symbol, b = parts_[right].symbol;
    const Merge *merge = merge_of(a, b);
    if (!merge) return;
    heap_.push_back({uint64_t{merge->rank} << 32 | left, a, b});
}

void RankMerger::run_many() {
    const auto later = [](const Candidate &a, const Candidate &b) { return a.order > b.order; };
    const uint32_t n = static_cast<uint32_t>(parts_.size());
    const auto before = [&](uint32_t i) -> uint32_t & { return parts_[i].rank; };
    const auto next = [&](uint32_t i) -> uint32_t & { return parts_[i].joined; };
    heap_.clear();
    for (uint32_t i = 0; i < n; i++) {
        before(i) = i == 0 ? kNone : i - 1;
        next(i) = i + 1 == n ? kNone : i + 1;
    }
    for (uint32_t i = 1; i < n; i++) propose(i - 1, i);
    std::make_heap(heap_.begin(), heap_.end(), later);
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), later);
        const Candidate best = heap_.back();
        heap_.pop_back();
        const uint32_t left = static_cast<uint32_t>(best.order), right = next(left);
        if (parts_[left].length == 0 || parts_[left].symbol != best.left || right == kNone ||
            parts_[right].symbol != best.right)
            continue;
        parts_[left].symbol = merges_.find(best.left, best.right)->joined;
        parts_[left].length += parts_[right].length;
        parts_[right].length = 0;
        next(left) = next(right);
        if (next(left) != kNone) before(next(left)) = left;
        const size_t n_before = heap_.size();
        propose(before(left), left);
        propose(left, next(left));
        for (size_t i = n_before; i < heap_.size(); i++)
            std::push_heap(heap_.begin(), heap_.begin() + static_cast<ptrdiff_t>(i) + 1, later);
    }
    parts_.erase(std::remove_if(parts_.begin(), parts_.end(),
                                [](const Part &part) { return part.length == 0; }),
                 parts_.end());
}

} // namespace ggufx::model
