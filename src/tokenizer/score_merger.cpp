// A symbol is a range of the text, so a pair is looked up by its text. See merging.hpp.
// SPDX-License-Identifier: MIT
#include "tokenizer/score_merger.hpp"

#include "tokenizer/words.hpp"

namespace ggufx::model {

// Higher scores have lower ranks.
uint32_t ScoreMerger::rank_of(int32_t id) const {
    if (id < 0) return kNoRank;
    if (order_ == Order::id) return static_cast<uint32_t>(id);
    const float score = vocab_[static_cast<size_t>(id)].score + 0.0f; // never -0
    const uint32_t bits = std::bit_cast<uint32_t>(score);             // never a NaN
    return bits >> 31 ? bits : ~bits & 0x7fffffff;
}

void ScoreMerger::encode(Ids &ids, std::string_view text, Controls controls) {
    text_ = text;
    controls_ = controls;
    if (!split_few()) return encode_many(ids);
    merge_few(parts_, [&](Part &left, const Part &right) {
        left.joined = find(left.start, right.start + right.length);
        left.rank = rank_of(left.joined);
    });
    for (const Part &part : parts_) put(ids, part.symbol, part.start, part.start + part.length);
}

// Splits the text into characters; returns false if there are too many.
bool ScoreMerger::split_few() {
    parts_.clear();
    for (size_t start = 0, length; start < text_.size(); start += length) {
        if (parts_.size() == kFewSymbols) return false;
        length = symbol_length(text_.substr(start));
        parts_.push_back(
            {static_cast<uint32_t>(start), static_cast<uint32_t>(length), kNoRank, 0, kUnknown});
    }
    return true;
}

void ScoreMerger::encode_many(Ids &ids) {
    if (!many_) many_.emplace(vocab_.host().get());
    PlaceSet &starts = many_->starts;
    const size_t n_bytes = text_.size();
    size_t n_symbols = 0;
    starts.reset(n_bytes + 1);
    for (size_t start = 0; start < n_bytes; n_symbols++) {
        starts.add(start);
        start += symbol_length(text_.substr(start));
    }
    starts.add(n_bytes);
    many_->queue.start(n_symbols, n_bytes);
    merge_many(
        many_->queue, starts, n_bytes,
        [&](size_t left, size_t, size_t end) { return rank_of(find(left, end)); },
        [](size_t, size_t, bool) {});
    many_->queue.release();
    for (size_t start = 0, end; start < n_bytes; start = end) {
        end = starts.next(start);
        put(ids, kUnknown, start, end);
    }
}

void ScoreMerger::put(Ids &ids, int32_t id, size_t start, size_t end) const {
    if (id == kUnknown) id = find(start, end);
    if (id >= 0)
        ids.push_back(id);
    else
        vocab_.put_bytes(ids, text_.substr(start, end - start), controls_);
}

} // namespace ggufx::model
