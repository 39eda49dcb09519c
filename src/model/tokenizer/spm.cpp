// Symbols are a linked list over the text; a heap holds the candidate pairs, best score first and
// the leftmost among equals. A pair that changed meanwhile is told by its length and dropped.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/spm.hpp"

#include <algorithm>
#include <inttypes.h>

namespace ggufx::model {

namespace {

constexpr uint32_t kEnd = UINT32_MAX;

struct Symbol {
    uint32_t previous, next; // kEnd: none
    uint32_t start, length;  // bytes; length 0: merged into its left neighbour
};

struct Pair {
    float score;
    uint32_t left, right, length;
};

// True when a comes after b: std heaps keep the greatest on top.
bool after(const Pair &a, const Pair &b) {
    return a.score < b.score || (a.score == b.score && a.left > b.left);
}

// Bytes of the character that starts with `lead`; stray continuation bytes stand alone.
uint32_t char_bytes(char lead) {
    const uint8_t c = static_cast<uint8_t>(lead);
    return c < 0xc0 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

class Merger {
public:
    Merger(const Vocab &vocab, std::string_view text)
        : vocab_(vocab), text_(text), symbols_(HostAllocator<Symbol>(vocab.host().get())),
          heap_(HostAllocator<Pair>(vocab.host().get())) {
        split();
    }
    void run();
    void write(Vector<int32_t> &ids) const;

private:
    void split();
    void propose(uint32_t left, uint32_t right);
    void merge(const Pair &pair);
    void write_bytes(Vector<int32_t> &ids, std::string_view bytes) const;

    const Vocab &vocab_;
    std::string_view text_;
    Vector<Symbol> symbols_;
    Vector<Pair> heap_;
};

void Merger::split() {
    uint32_t start = 0;
    const uint32_t end = static_cast<uint32_t>(text_.size()); // the caller limits texts to 2^31
    while (start < end) {
        const uint32_t length = std::min(char_bytes(text_[start]), end - start);
        const uint32_t i = static_cast<uint32_t>(symbols_.size());
        const bool last = start + length == end;
        symbols_.push_back({i == 0 ? kEnd : i - 1, last ? kEnd : i + 1, start, length});
        start += length;
    }
}

void Merger::propose(uint32_t left, uint32_t right) {
    if (left == kEnd || right == kEnd) return;
    const uint32_t length = symbols_[left].length + symbols_[right].length;
    const int32_t id = vocab_.find(text_.substr(symbols_[left].start, length));
    if (id < 0) return;
    heap_.push_back({vocab_[static_cast<size_t>(id)].score, left, right, length});
    std::push_heap(heap_.begin(), heap_.end(), after);
}

void Merger::merge(const Pair &pair) {
    Symbol &left = symbols_[pair.left];
    Symbol &right = symbols_[pair.right];
    if (left.length == 0 || right.length == 0 || left.length + right.length != pair.length) return;
    left.length = pair.length;
    right.length = 0;
    left.next = right.next;
    if (left.next != kEnd) symbols_[left.next].previous = pair.left;
    propose(left.previous, pair.left);
    propose(pair.left, left.next);
}

void Merger::run() {
    for (uint32_t i = 1; i < symbols_.size(); i++) propose(i - 1, i);
    while (!heap_.empty()) {
        std::pop_heap(heap_.begin(), heap_.end(), after);
        const Pair pair = heap_.back();
        heap_.pop_back();
        merge(pair);
    }
}

void Merger::write(Vector<int32_t> &ids) const {
    for (uint32_t i = symbols_.empty() ? kEnd : 0; i != kEnd; i = symbols_[i].next) {
        const std::string_view piece = text_.substr(symbols_[i].start, symbols_[i].length);
        const int32_t id = vocab_.find(piece);
        if (id >= 0)
            ids.push_back(id);
        else
            write_bytes(ids, piece);
    }
}

void Merger::write_bytes(Vector<int32_t> &ids, std::string_view bytes) const {
    for (const char c : bytes) {
        int32_t id = vocab_.byte_token(static_cast<uint8_t>(c));
        if (id < 0) id = vocab_.find({&c, 1});
        if (id < 0) id = vocab_.unknown();
        if (id < 0) {
            const size_t at = static_cast<size_t>(bytes.data() - text_.data());
            fail(Status::vocab, {kNone, at},
                 "no token for byte 0x%02x, and the vocabulary has no unknown token",
                 static_cast<unsigned>(static_cast<uint8_t>(c)));
        }
        ids.push_back(id);
    }
}

} // namespace

void merge_by_score(Vector<int32_t> &ids, const Vocab &vocab, std::string_view text) {
    Merger merger(vocab, text);
    merger.run();
    merger.write(ids);
}

} // namespace ggufx::model
