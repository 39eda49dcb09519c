// Loading merges, and finding pairs. See merges.hpp.
// SPDX-License-Identifier: MIT
#include "model/tokenizer/merges.hpp"

#include <inttypes.h>

namespace ggufx::model {

namespace {

constexpr const char *kKey = "tokenizer.ggml.merges";
constexpr uint64_t kMaxMerges = 1u << 28;

} // namespace

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
        if (slots_[at].pair == kFree) return nullptr; // also of the pair that stands for this
        if (slots_[at].pair == pair) return &slots_[at].merge;
    }
    if (rest_.empty()) return nullptr;
    const auto found = rest_.find(pair);
    return found == rest_.end() ? nullptr : &found->second;
}

bool space_within(std::string_view text) {
    bool words = false; // something else stood before
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
    const size_t index = file.find_meta(kKey);
    if (index == gguf::kNotFound) {
        ranks_are_ids_ = vocab.pre()->rules->lists_han; // kimi-k2
        if (!ranks_are_ids_) fail(Status::missing, {}, "key %s is missing", kKey);
        pairs_.reserve(0);
        return;
    }
    const gguf::MetaEntry entry = file.meta(index);
    const bool texts = entry.type == gguf::ValueType::array &&
                       (entry.element == gguf::ValueType::string || entry.count == 0);
    if (!texts) fail(Status::vocab, {entry.offset, index}, "%s is not an array of strings", kKey);
    if (entry.count > kMaxMerges) {
        fail(Status::vocab, {entry.offset, index},
             "%s has %" PRIu64 " merges, the limit is %" PRIu64, kKey, entry.count, kMaxMerges);
    }
    pairs_.reserve(static_cast<size_t>(entry.count));
    Vector<char> joined{HostAllocator<char>(vocab.host().get())};
    for (uint64_t i = 0, at = 0; i < entry.count; i++)
        add(i, file.next_array_string(index, &at), joined);
}

void Merges::add(uint64_t rank, std::string_view text, Vector<char> &joined) {
    const size_t space = text.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == text.size()) {
        fail(Status::vocab, {kNone, rank},
             "merge %" PRIu64 " is %s, not two texts with a space between", rank,
             Quoted(text.data(), text.size()).c_str());
    }
    const std::string_view left = text.substr(0, space), right = text.substr(space + 1);
    joined.assign(left.begin(), left.end());
    joined.insert(joined.end(), right.begin(), right.end());
    const std::string_view whole = {joined.data(), joined.size()};
    const uint64_t pair = uint64_t{intern(left)} << 32 | intern(right);
    pairs_.add(pair, {static_cast<uint32_t>(rank), intern(whole)});
    if (vocab_.kind() == VocabKind::raw_bpe && !cross_spaces_) cross_spaces_ = space_within(whole);
}

Symbol Merges::symbol(std::string_view text) const {
    const int32_t id = vocab_.find(text);
    if (id >= 0) return static_cast<Symbol>(id);
    const uint32_t *loose = by_text_.find(text, [&](uint32_t i) { return loose_[i]; });
    return loose ? static_cast<Symbol>(vocab_.size() + *loose) : kNoSymbol;
}

Symbol Merges::intern(std::string_view text) {
    const Symbol known = symbol(text);
    if (known != kNoSymbol) return known;
    loose_.push_back(texts_.copy(text.data(), text.size()));
    const uint32_t i = static_cast<uint32_t>(loose_.size() - 1);
    by_text_.insert(i, [&](uint32_t k) { return loose_[k]; });
    return static_cast<Symbol>(vocab_.size() + i);
}

} // namespace ggufx::model
