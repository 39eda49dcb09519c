// Merges by score, the algorithm of sentencepiece's BPE: joins the characters of a text pair by
// pair, the token with the highest score first, the leftmost among equals.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/tokenizer/vocab.hpp"

namespace ggufx::model {

// Working memory of merging, reused for each text.
class ScoreMerger {
public:
    enum class Order { score, id }; // id: the lowest id first, for lists of ranks
    ScoreMerger(const Vocab &vocab, Order order)
        : vocab_(vocab), order_(order), symbols_(HostAllocator<Node>(vocab.host().get())),
          heap_(HostAllocator<Pair>(vocab.host().get())) {}

    // Appends the ids of `text`; refused controls are treated as missing tokens. Throws Error
    // (vocab: a byte that has no token) / std::bad_alloc. O(n log n).
    void encode(Vector<int32_t> &ids, std::string_view text, Controls controls);

private:
    struct Node {
        uint32_t previous, next; // kEnd: none
        uint32_t start, length;  // bytes; length 0: merged into its left neighbour
    };
    struct Pair {
        float score;
        uint32_t left, right, length;
    };
    static bool after(const Pair &a, const Pair &b);
    void split();
    void propose(uint32_t left, uint32_t right);
    void merge(const Pair &pair);
    void write(Vector<int32_t> &ids) const;

    const Vocab &vocab_;
    const Order order_;
    std::string_view text_;
    Controls controls_;
    Vector<Node> symbols_;
    Vector<Pair> heap_;
};

} // namespace ggufx::model
