// Token masks and their cache, see masks.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/masks.hpp"

#include <algorithm>

namespace ggufx::grammar {

void Mask::list_few() {
    Vector<Word> words{few.get_allocator()};
    for (size_t i = 0; i < bits.size(); i++) {
        if (bits[i] == 0) continue;
        if (words.size() == kFewWords) return;
        words.push_back({static_cast<uint32_t>(i), bits[i]});
    }
    few.assign(words.begin(), words.end());
    bits = Vector<uint32_t>(bits.get_allocator());
}

MaskCache::~MaskCache() {
    for (std::atomic<Mask *> &bucket : buckets_) {
        for (Mask *mask = bucket.load(); mask;) {
            Mask *const next = mask->next;
            unmake(*host_, mask);
            mask = next;
        }
    }
}

const Mask *MaskCache::find(const Vector<uint32_t> &key, uint64_t hash) const {
    const Mask *mask = buckets_[hash % kBuckets].load(std::memory_order_acquire);
    while (mask && !(mask->hash == hash && mask->key == key)) mask = mask->next;
    return mask;
}

bool MaskCache::add(Mask *mask) {
    const uint64_t n_bytes = 4 * (mask->bits.size() + mask->leaves.capacity() + mask->key.size()) +
                             sizeof(Mask::Word) * mask->few.size() + sizeof *mask;
    if (n_bytes_.fetch_add(n_bytes, std::memory_order_relaxed) + n_bytes > kMostBytes) {
        n_bytes_.fetch_sub(n_bytes, std::memory_order_relaxed);
        return false;
    }
    std::atomic<Mask *> &bucket = buckets_[mask->hash % kBuckets];
    mask->next = bucket.load(std::memory_order_relaxed);
    while (!bucket.compare_exchange_weak(mask->next, mask, std::memory_order_release,
                                         std::memory_order_relaxed)) {}
    return true;
}

} // namespace ggufx::grammar
