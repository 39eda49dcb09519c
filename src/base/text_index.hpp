// Map from strings to values: a hash table whose collisions overflow into a sorted map, so that
// keys made to collide cost log n steps at most. Nothing is random: results, order and cost depend
// on the keys alone.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <map>
#include <string_view>
#include <utility>

namespace ggufx {

// T is small and copied. name_of(T) is its key, whose memory stays valid while T is in the index.
template <class T> class TextIndex {
public:
    explicit TextIndex(const Host *host)
        : slots_(HostAllocator<Slot>(host)), rest_(typename Rest::allocator_type(host)) {}

    // Reserves room for `more` values. Throws std::bad_alloc.
    template <class NameOf> void reserve(size_t more, const NameOf &name_of);

    // Returns null if absent; valid until the next insert, reserve or erase.
    template <class NameOf> const T *find(std::string_view text, const NameOf &name_of) const {
        return find(text, hash(text), name_of);
    }

    // Inserts a value whose key is absent. If it throws std::bad_alloc, nothing has changed.
    template <class NameOf> void insert(T value, const NameOf &name_of) {
        insert(value, hash(name_of(value)), name_of);
    }

    // Batches of lookups compute all hashes first; fetch() prefetches the slot of each.
    static uint64_t hash(std::string_view text) {
        uint64_t h = 0xcbf29ce484222325u; // FNV-1a, then mixed: its low bits alone are weak
        for (const char c : text) h = (h ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
        return (h ^ (h >> 29)) * 0x9e3779b97f4a7c15u;
    }
    void fetch(uint64_t hash) const {
        if (!slots_.empty()) __builtin_prefetch(&slots_[home(hash)]);
    }
    // Returns the probable result from the hash alone, without comparing keys; null if unknown.
    const T *likely(uint64_t hash) const {
        if (slots_.empty()) return nullptr;
        const Slot &slot = slots_[home(hash)];
        return slot.tag == tag_of(hash) ? &slot.value : nullptr;
    }
    template <class NameOf>
    const T *find(std::string_view text, uint64_t hash, const NameOf &name_of) const;
    template <class NameOf> void insert(T value, uint64_t hash, const NameOf &name_of);

    // Replaces the value of a key that is present.
    template <class NameOf> void replace(T value, const NameOf &name_of) noexcept;
    template <class NameOf> void erase(std::string_view text, const NameOf &name_of) noexcept;

private:
    // Half the slots are empty, so a lookup probes two or three of them. 1 of 100,000 ordinary keys
    // needs more probes than this.
    static constexpr size_t kReach = 32;
    static constexpr size_t kFewest = 64;                       // slots
    static constexpr uint32_t kEmpty = 0, kGone = 1, kUsed = 2; // tags; used slots have bit 1
    struct Slot {
        uint32_t tag; // a part of the hash
        T value;
        bool used() const { return (tag & kUsed) != 0; }
    };
    using Rest = std::map<std::string_view, T, std::less<std::string_view>,
                          HostAllocator<std::pair<const std::string_view, T>>>;

    static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash) | kUsed; }
    size_t home(uint64_t hash) const {
        return static_cast<size_t>(hash >> 16) & (slots_.size() - 1);
    }
    template <class NameOf>
    const Slot *find_slot(std::string_view, uint64_t hash, const NameOf &) const;
    Slot *free_slot(uint64_t hash) noexcept;

    Vector<Slot> slots_; // size is a power of two, or 0
    size_t n_taken_ = 0; // slots that are not empty
    size_t n_used_ = 0;  // without those of erased values
    Rest rest_;          // values without a free slot within kReach
};

template <class T>
template <class NameOf>
const typename TextIndex<T>::Slot *TextIndex<T>::find_slot(std::string_view text, uint64_t h,
                                                           const NameOf &name_of) const {
    if (slots_.empty()) return nullptr;
    const uint32_t tag = tag_of(h);
    for (size_t i = 0, at = home(h); i < kReach; i++, at = (at + 1) & (slots_.size() - 1)) {
        const Slot &slot = slots_[at];
        if (slot.tag == kEmpty) return nullptr;
        if (slot.tag == tag && name_of(slot.value) == text) return &slot;
    }
    return nullptr;
}

template <class T>
template <class NameOf>
const T *TextIndex<T>::find(std::string_view text, uint64_t h, const NameOf &name_of) const {
    if (const Slot *slot = find_slot(text, h, name_of)) return &slot->value;
    if (rest_.empty()) return nullptr;
    const auto at = rest_.find(text);
    return at == rest_.end() ? nullptr : &at->second;
}

template <class T> typename TextIndex<T>::Slot *TextIndex<T>::free_slot(uint64_t h) noexcept {
    for (size_t i = 0, at = home(h); i < kReach; i++, at = (at + 1) & (slots_.size() - 1))
        if (!slots_[at].used()) return &slots_[at];
    return nullptr;
}

// Rehashes the values into a table with room, which is larger unless erased values take the room.
// Keys in rest_ stay there, because find() searches both.
template <class T>
template <class NameOf>
void TextIndex<T>::reserve(size_t more, const NameOf &name_of) {
    size_t n = slots_.size() < kFewest ? kFewest : slots_.size();
    if (n == slots_.size() && n / 2 >= n_taken_ + more) return;
    while (n / 2 < n_used_ + more) n *= 2;
    TextIndex next(slots_.get_allocator().host());
    next.slots_.assign(n, Slot{kEmpty, T{}});
    for (const Slot &slot : slots_)
        if (slot.used()) next.insert(slot.value, name_of);
    slots_.swap(next.slots_);
    n_taken_ = next.n_taken_;
    n_used_ = next.n_used_;
    rest_.merge(next.rest_);
}

template <class T>
template <class NameOf>
void TextIndex<T>::insert(T value, uint64_t h, const NameOf &name_of) {
    if (slots_.size() / 2 < n_taken_ + 1) reserve(n_used_ + 1, name_of);
    if (Slot *slot = free_slot(h)) {
        n_taken_ += slot->tag == kEmpty;
        n_used_++;
        *slot = {tag_of(h), value};
    } else {
        rest_.emplace(name_of(value), value);
    }
}

template <class T>
template <class NameOf>
void TextIndex<T>::replace(T value, const NameOf &name_of) noexcept {
    const std::string_view text = name_of(value);
    if (const Slot *slot = find_slot(text, hash(text), name_of)) {
        const_cast<Slot *>(slot)->value = value;
        return;
    }
    auto node = rest_.extract(text); // its key points into the old value
    node.key() = text;
    node.mapped() = value;
    rest_.insert(std::move(node));
}

template <class T>
template <class NameOf>
void TextIndex<T>::erase(std::string_view text, const NameOf &name_of) noexcept {
    if (const Slot *slot = find_slot(text, hash(text), name_of))
        const_cast<Slot *>(slot)->tag = kGone, n_used_--;
    else
        rest_.erase(rest_.find(text));
}

} // namespace ggufx
