// Merges by score, the algorithm of sentencepiece's BPE: joins the characters of a text pair by
// pair, the token with the highest score first, the leftmost among equals.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/merging.hpp"
#include "tokenizer/vocab.hpp"

#include <optional>

namespace ggufx::model {

// Working memory of merging, reused for each text: 1/4 byte per byte and 2 per
// symbol, or at most 512 KiB.
class ScoreMerger {
public:
    enum class Order { score, id }; // id: the lowest id first, for lists of ranks
    ScoreMerger(const Vocab &vocab, Order order)
        : vocab_(vocab), order_(order), parts_(HostAllocator<Part>(vocab.host().get())) {}

    // Appends the ids of `text`; refused controls are treated as missing tokens. Throws Error
    // (vocab: a byte that has no token) / std::bad_alloc. O(n log n).
    void encode(Ids &ids, std::string_view text, Controls controls);

private:
    static constexpr int32_t kUnknown = -2;
    struct Part {
        uint32_t start, length; // bytes
        uint32_t rank;          // rank of the pair with the next part
        int32_t joined, symbol; // ids of that pair and of the part; kUnknown: not looked up
    };
    struct Many {
        explicit Many(const Host *host) : starts(host), queue(host) {}
        PlaceSet starts; // starts of symbols, and the end
        MergeQueue queue;
    };
    bool split_few();
    void encode_many(Ids &ids);
    uint32_t rank_of(int32_t id) const;
    int32_t find(size_t start, size_t end) const {
        return vocab_.find(text_.substr(start, end - start), controls_);
    }
    void put(Ids &ids, int32_t id, size_t start, size_t end) const;

    const Vocab &vocab_;
    const Order order_;
    std::string_view text_;
    Controls controls_;
    Vector<Part> parts_;
    std::optional<Many> many_;
};

} // namespace ggufx::model
