// Symbols are a linked list over the text; a heap holds the candidate pairs. A pair that changed
// since is recognized by its length and dropped.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/score_merger.hpp"

#include "model/tokenizer/words.hpp"

#include <algorithm>

namespace ggufx::model {

namespace {

constexpr uint32_t kEnd = UINT32_MAX;

} // namespace

// Returns true when a comes after b: std heaps keep the greatest on top.
bool ScoreMerger::after(const Pair &a, const Pair &b) {
    return a.score < b.score || (a.score == b.score && a.left > b.left);
}

void ScoreMerger::encode(Vector<int32_t> &ids, std::string_view text, Controls controls) {
    text_ = text;
    controls_ = controls;
    symbols_.clear();
    heap_.clear();
    split();
    for (uint32_t i = 1; i < symbols_.size(); i++) propose(i - 1, i);
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), after);
        const Pair pair = heap_.back();
        heap_.pop_back();
        merge(pair);
    }
    write(ids);
}

void ScoreMerger::split() {
    uint32_t start = 0;
    const uint32_t end = static_cast<uint32_t>(text_.size()); // the caller limits texts to 2^31
    while (start < end) {
        const uint32_t length = static_cast<uint32_t>(symbol_length(text_.substr(start)));
        const uint32_t i = static_cast<uint32_t>(symbols_.size());
        const bool last = start + length == end;
        symbols_.push_back({i == 0 ? kEnd : i - 1, last ? kEnd : i + 1, start, length});
        start += length;
    }
}

void ScoreMerger::propose(uint32_t left, uint32_t right) {
    if (left == kEnd || right == kEnd) return;
    const uint32_t length = symbols_[left].length + symbols_[right].length;
    const int32_t id = vocab_.find(text_.substr(symbols_[left].start, length), controls_);
    if (id < 0) return;
    const float score =
        order_ == Order::id ? -static_cast<float>(id) : vocab_[static_cast<size_t>(id)].score;
    heap_.push_back({score, left, right, length});
    std::push_heap(heap_.begin(), heap_.end(), after);
}

void ScoreMerger::merge(const Pair &pair) {
    Node &left = symbols_[pair.left];
    Node &right = symbols_[pair.right];
    if (left.length == 0 || right.length == 0 || left.length + right.length != pair.length) return;
    left.length = pair.length;
    right.length = 0;
    left.next = right.next;
    if (left.next != kEnd) symbols_[left.next].previous = pair.left;
    propose(left.previous, pair.left);
    propose(pair.left, left.next);
}

void ScoreMerger::write(Vector<int32_t> &ids) const {
    for (uint32_t i = symbols_.empty() ? kEnd : 0; i != kEnd; i = symbols_[i].next) {
        const std::string_view piece = text_.substr(symbols_[i].start, symbols_[i].length);
        const int32_t id = vocab_.find(piece, controls_);
        if (id >= 0)
            ids.push_back(id);
        else
            vocab_.put_bytes(ids, piece, controls_);
    }
}

} // namespace ggufx::model
