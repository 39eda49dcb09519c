// Loads merges, and finds pairs. See merges.hpp.
// SPDX-License-Identifier: MIT
#include "tokenizer/merges.hpp"

#include <inttypes.h>

namespace ggufx::model {

namespace {

constexpr const char *kMergesKey = "tokenizer.ggml.merges";
constexpr uint64_t kMaxMerges = 1u << 28;
constexpr size_t kMergesAtOnce = 16, kTexts = 3; // merges per lookup; left, right and joined

} // namespace

// Copies of merge texts: if the file is not memory-mapped, reading a text invalidates the previous
// one.
struct Merges::Block {
    uint64_t rank = 0; // rank of the first merge
    size_t n = 0;
    Vector<char> bytes; // left and right of each, whose concatenation is the joined text
    size_t left[kMergesAtOnce], right[kMergesAtOnce];

    explicit Block(const Host *host) : bytes(HostAllocator<char>(host)) {}
    void put(uint64_t of, std::string_view text, size_t n_left) {
        if (n == 0) rank = of;
        left[n] = n_left;
        right[n++] = text.size() - n_left - 1;
        bytes.insert(bytes.end(), text.begin(), text.begin() + static_cast<ptrdiff_t>(n_left));
        bytes.insert(bytes.end(), text.begin() + static_cast<ptrdiff_t>(n_left) + 1, text.end());
    }
    size_t take(std::string_view *texts) const {
        const char *at = bytes.data();
        for (size_t i = 0; i < n; i++, at += left[i - 1] + right[i - 1]) {
            texts[kTexts * i] = {at, left[i]};
            texts[kTexts * i + 1] = {at + left[i], right[i]};
            texts[kTexts * i + 2] = {at, left[i] + right[i]};
        }
        return kTexts * n;
    }
    void clear() {
        bytes.clear();
        n = 0;
    }
};

void PairIndex::reserve(size_t n) {
    size_t slots = 64;
    while (slots / 2 < n) slots *= 2;
    slots_.assign(slots, Slot{kFree, {}});
}

void PairIndex::add(uint64_t pair, Merge merge) {
    size_t at = home(pair);
    for (size_t i = 0; i < kReach; i++, at = (at + 1) & (slots_.size() - 1)) {
        if (slots_[at].pair == pair) return;
        if (slots_[at].pair != kFree) continue;
        slots_[at] = {pair, merge};
        return;
    }
    rest_.emplace(pair, merge);
}

const Merge *PairIndex::find(uint64_t pair) const {
    size_t at = home(pair);
    for (size_t i = 0; i < kReach; i++, at = (at + 1) & (slots_.size() - 1)) {
        if (slots_[at].pair == kFree) return nullptr; // also for the pair that equals kFree
        if (slots_[at].pair == pair) return &slots_[at].merge;
    }
    if (rest_.empty()) return nullptr;
    const auto found = rest_.find(pair);
    return found == rest_.end() ? nullptr : &found->second;
}

bool space_within(std::string_view text) {
    bool words = false; // something other than U+2581 came before
    for (size_t i = 0; i < text.size();) {
        const bool space = text.substr(i, kSpaceText.size()) == kSpaceText;
        if (space && words) return true;
        words = words || !space;
        i += space ? kSpaceText.size() : 1;
    }
    return false;
}

Merges::Merges(const Vocab &vocab)
    : vocab_(vocab), texts_(vocab.host().get()),
      loose_(HostAllocator<std::string_view>(vocab.host().get())), by_text_(vocab.host().get()),
      pairs_(vocab.host().get()) {
    const gguf::File &file = vocab.file();
    const size_t index = file.find_meta(kMergesKey);
    if (index == gguf::kNotFound) {
        ranks_are_ids_ = vocab.pre()->rules->lists_han; // kimi-k2
        if (!ranks_are_ids_) fail(Status::missing, {}, "key %s is missing", kMergesKey);
        pairs_.reserve(0);
        return;
    }
    const gguf::MetaEntry entry = file.meta(index);
    const bool texts = entry.type == gguf::ValueType::array &&
                       (entry.element == gguf::ValueType::string || entry.count == 0);
    if (!texts)
        fail(Status::vocab, {entry.offset, index}, "%s is not an array of strings", kMergesKey);
    if (entry.count > kMaxMerges) {
        fail(Status::vocab, {entry.offset, index},
             "%s has %" PRIu64 " merges, the limit is %" PRIu64, kMergesKey, entry.count,
             kMaxMerges);
    }
    pairs_.reserve(static_cast<size_t>(entry.count));
    Block block(vocab.host().get());
    for (uint64_t i = 0, at = 0; i < entry.count; i++) {
        const std::string_view text = file.next_array_string(index, &at);
        block.put(i, text, left_of(i, text).size());
        if (block.n == kMergesAtOnce || i + 1 == entry.count) add(block);
    }
}

std::string_view Merges::left_of(uint64_t rank, std::string_view text) {
    const size_t space = text.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == text.size()) {
        fail(Status::vocab, {kNone, rank},
             "merge %" PRIu64 " is %s, not two texts with a space between", rank,
             Quoted(text).c_str());
    }
    return text.substr(0, space);
}

// Adds merges in order: the first of equal pairs counts, and loose texts are numbered as they
// appear.
void Merges::add(Block &block) {
    std::string_view texts[kTexts * kMergesAtOnce];
    int32_t ids[kTexts * kMergesAtOnce];
    const size_t n_texts = block.take(texts);
    vocab_.find(ids, texts, n_texts);
    uint64_t pairs[kMergesAtOnce];
    Symbol wholes[kMergesAtOnce];
    for (size_t i = 0, t = 0; i < block.n; i++, t += kTexts) {
        const uint64_t left = intern(texts[t], ids[t]), right = intern(texts[t + 1], ids[t + 1]);
        wholes[i] = intern(texts[t + 2], ids[t + 2]);
        pairs[i] = left << 32 | right;
        pairs_.fetch(pairs[i]);
        if (vocab_.kind() == VocabKind::raw_bpe && !cross_spaces_)
            cross_spaces_ = space_within(texts[t + 2]);
    }
    for (size_t i = 0; i < block.n; i++)
        pairs_.add(pairs[i], {static_cast<uint32_t>(block.rank + i), wholes[i]});
    block.clear();
}

Symbol Merges::symbol(std::string_view text) const {
    const int32_t id = vocab_.find(text);
    if (id >= 0) return static_cast<Symbol>(id);
    const uint32_t *loose = by_text_.find(text, [&](uint32_t i) { return loose_[i]; });
    return loose ? static_cast<Symbol>(vocab_.size() + *loose) : kNoSymbol;
}

// `id`: token with this text, or -1.
Symbol Merges::intern(std::string_view text, int32_t id) {
    if (id >= 0) return static_cast<Symbol>(id);
    if (const uint32_t *loose = by_text_.find(text, [&](uint32_t i) { return loose_[i]; }))
        return static_cast<Symbol>(vocab_.size() + *loose);
    loose_.push_back(texts_.copy(text.data(), text.size()));
    const uint32_t i = static_cast<uint32_t>(loose_.size() - 1);
    by_text_.insert(i, [&](uint32_t k) { return loose_[k]; });
    return static_cast<Symbol>(vocab_.size() + i);
}

} // namespace ggufx::model
