// Merges symbols by rank: repeatedly joins the adjacent pair whose merge has the lowest rank, the
// leftmost among equals.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/merges.hpp"
#include "tokenizer/merging.hpp"

#include <optional>

namespace ggufx::model {

// Working memory of merging, reused for each piece: 6.4 bytes per symbol, or 4.4 and at most
// 512 KiB.
class RankMerger {
public:
    RankMerger(const Merges &merges, const Host *host)
        : merges_(merges), host_(host), parts_(HostAllocator<Part>(host)) {}
    void clear() {
        parts_.clear();
        few_ = true;
    }
    // Throws std::bad_alloc.
    void add(Symbol symbol, size_t n_bytes) {
        if (few_ && parts_.size() == kFewSymbols) begin_many();
        if (few_)
            parts_.push_back({symbol, static_cast<uint32_t>(n_bytes), kNoRank, 0});
        else
            many_->symbols.push_back(symbol);
    }
    // Merges in O(n log n). No merge yields refused controls. Throws std::bad_alloc.
    void run(Controls controls);
    bool has_refused(Controls controls) const; // among the results
    bool is_alone(Symbol symbol) const;        // the only result

    // Takes the results: calls put(symbol, at, n_bytes) for each, with its place in the piece.
    // length_at(at) is the length of the symbol that was added for this place. The memory of a long
    // piece is freed step by step, as the caller's ids take it.
    template <class LengthAt, class Put> void take(const LengthAt &length_at, const Put &put) {
        size_t at = 0;
        if (few_) {
            for (const Part &part : parts_) put(part.symbol, at, part.length), at += part.length;
            return;
        }
        Blocks<Symbol> &symbols = many_->symbols;
        for (size_t i = 0, end; i < symbols.size(); i = end) {
            size_t n_bytes = 0;
            end = many_->starts.next(i);
            for (size_t k = i; k < end; k++) n_bytes += length_at(at + n_bytes);
            put(symbols[i], at, n_bytes);
            at += n_bytes;
            symbols.free_before(end);
        }
    }

private:
    struct Part {
        Symbol symbol;
        uint32_t length; // bytes
        uint32_t rank;   // rank of the merge with the next symbol
        Symbol joined;   // result of that merge
    };
    struct Many {
        explicit Many(const Host *host) : symbols(host), starts(host), queue(host) {}
        Blocks<Symbol> symbols; // valid at the starts
        PlaceSet starts;        // and the end
        MergeQueue queue;
    };
    const Merge *merge_of(Symbol left, Symbol right) const;
    void begin_many();
    void run_many();

    const Merges &merges_;
    const Host *host_;
    Controls controls_;
    bool few_ = true;
    Vector<Part> parts_;
    std::optional<Many> many_;
};

} // namespace ggufx::model
