// A pair is looked up by the numbers of its symbols. See merging.hpp.
// SPDX-License-Identifier: MIT
#include "tokenizer/rank_merger.hpp"

namespace ggufx::model {

void RankMerger::begin_many() {
    if (!many_) many_.emplace(host_);
    many_->symbols.clear();
    for (const Part &part : parts_) many_->symbols.push_back(part.symbol);
    few_ = false;
}

void RankMerger::run(Controls controls) {
    controls_ = controls;
    if (!few_) return run_many();
    merge_few(parts_, [&](Part &left, const Part &right) {
        const Merge *merge = merge_of(left.symbol, right.symbol);
        left.rank = merge ? merge->rank : kNoRank;
        left.joined = merge ? merge->joined : 0;
    });
}

bool RankMerger::has_refused(Controls controls) const {
    if (!controls.are_refused()) return false;
    const auto refused = [&](Symbol symbol) { return merges_.is_refused(symbol, controls); };
    if (few_)
        return std::any_of(parts_.begin(), parts_.end(),
                           [&](const Part &part) { return refused(part.symbol); });
    const Blocks<Symbol> &symbols = many_->symbols;
    for (size_t i = 0; i < symbols.size(); i = many_->starts.next(i))
        if (refused(symbols[i])) return true;
    return false;
}

bool RankMerger::is_alone(Symbol symbol) const {
    if (few_) return parts_.size() == 1 && parts_[0].symbol == symbol;
    return many_->symbols[0] == symbol && many_->starts.next(0) == many_->symbols.size();
}

const Merge *RankMerger::merge_of(Symbol left, Symbol right) const {
    const Merge *merge = merges_.find(left, right);
    const bool refused = merge && merges_.is_refused(merge->joined, controls_);
    return refused ? nullptr : merge;
}

void RankMerger::run_many() {
    Blocks<Symbol> &symbols = many_->symbols;
    PlaceSet &starts = many_->starts;
    MergeQueue &queue = many_->queue;
    starts.fill(symbols.size() + 1);
    queue.start(symbols.size(), symbols.size());
    const Merge *merge = nullptr;
    merge_many(
        queue, starts, symbols.size(),
        [&](size_t left, size_t right, size_t) {
            merge = merge_of(symbols[left], symbols[right]);
            return merge ? merge->rank : kNoRank;
        },
        [&](size_t left, size_t right, bool found) {
            if (!found) merge = merges_.find(symbols[left], symbols[right]);
            symbols[left] = merge->joined;
        });
    queue.release();
}

} // namespace ggufx::model
