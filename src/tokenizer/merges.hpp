// Merges of a BPE vocabulary: pairs of symbols, their result and rank. A symbol is a token, or a
// text without a token that merges produce ("loose"). Texts are looked up at load time, so merging
// only compares numbers.
// Keys: tokenizer.ggml.merges, "left right" each; the rank is the index in the list.
// SPDX-License-Identifier: MIT
#pragma once

#include "tokenizer/vocab.hpp"

#include <map>

namespace ggufx::model {

using Symbol = uint32_t;
constexpr Symbol kNoSymbol = UINT32_MAX; // takes part in no merge

struct Merge {
    uint32_t rank;
    Symbol joined;
};

// Hash table of pairs of symbols; collisions beyond kReach go to a map, as in base/text_index.hpp.
class PairIndex {
public:
    explicit PairIndex(const Host *host)
        : slots_(HostAllocator<Slot>(host)), rest_(Rest::allocator_type(host)) {}
    void reserve(size_t n); // must precede add(). Throws std::bad_alloc
    void fetch(uint64_t pair) const { __builtin_prefetch(&slots_[home(pair)]); }
    // Adds a pair; the first of equal pairs counts. Throws std::bad_alloc.
    void add(uint64_t pair, Merge merge);
    const Merge *find(uint64_t pair) const; // null when there is none

private:
    static constexpr size_t kReach = 16;
    static constexpr uint64_t kFree = UINT64_MAX; // kNoSymbol twice
    struct Slot {
        uint64_t pair;
        Merge merge;
    };
    using Rest = std::map<uint64_t, Merge, std::less<uint64_t>,
                          HostAllocator<std::pair<const uint64_t, Merge>>>;
    size_t home(uint64_t pair) const {
        const uint64_t h = (pair ^ pair >> 29) * 0x9e3779b97f4a7c15u;
        return static_cast<size_t>((h ^ h >> 32) * 0xbf58476d1ce4e5b9u >> 20) & (slots_.size() - 1);
    }
    Vector<Slot> slots_; // a power of two of slots, at least half of them free
    Rest rest_;
};

class Merges {
public:
    // Throws Error (missing, vocab) / std::bad_alloc.
    explicit Merges(const Vocab &vocab);

    const Merge *find(Symbol left, Symbol right) const {
        return pairs_.find(uint64_t{left} << 32 | right);
    }
    Symbol symbol(std::string_view text) const; // kNoSymbol when no token and no merge has it
    bool is_token(Symbol symbol) const { return symbol < vocab_.size(); }
    bool is_refused(Symbol symbol, Controls controls) const {
        return is_token(symbol) && vocab_.is_refused(static_cast<int32_t>(symbol), controls);
    }
    // Returns whether the list has ranks without merges: then a pair that is a token has its id as
    // rank.
    bool ranks_are_ids() const { return ranks_are_ids_; }
    bool cross_spaces() const {
        return cross_spaces_;
    } // a merge joins a word with the U+2581 after it

private:
    struct Block; // merges that are added together
    static std::string_view left_of(uint64_t rank, std::string_view text);
    Symbol intern(std::string_view text, int32_t id);
    void add(Block &block);

    const Vocab &vocab_;
    Arena texts_; // texts of loose symbols
    Vector<std::string_view> loose_;
    TextIndex<uint32_t> by_text_;
    PairIndex pairs_;
    bool ranks_are_ids_ = false, cross_spaces_ = false;
};

// U+2581, which stands for a space in tokens.
constexpr std::string_view kSpaceText = "\xe2\x96\x81";

// Returns whether U+2581 follows something else in the text.
bool space_within(std::string_view text);

} // namespace ggufx::model
