// SPDX-License-Identifier: MIT
#include "serve/grammar_cache.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>

namespace ggufx::cli {

namespace {

using Memory = std::shared_ptr<GrammarMemory>;

void *alloc_hook(void *user, size_t size, size_t align) {
    return (*static_cast<const Memory *>(user))->alloc(size, align);
}

void free_hook(void *user, void *memory, size_t size, size_t) {
    (*static_cast<const Memory *>(user))->free(memory, size);
}

void destroy_hook(void *user) {
    delete static_cast<const Memory *>(user);
}

} // namespace

void *GrammarMemory::alloc(size_t size, size_t align) {
    if (const uint64_t n = n_bytes(); most_ != UINT64_MAX) {
        is_exceeded_ = is_exceeded_ || n > most_ || size > most_ - n;
        if (is_exceeded_) return nullptr;
        n_peak_ = std::max(n_peak_, n + size);
    }
    void *const memory = align <= alignof(std::max_align_t)
                             ? std::malloc(size)
                             : std::aligned_alloc(align, (size + align - 1) / align * align);
    if (memory) n_bytes_.fetch_add(size, std::memory_order_relaxed);
    return memory;
}

void GrammarMemory::free(void *memory, size_t size) {
    n_bytes_.fetch_sub(size, std::memory_order_relaxed);
    std::free(memory);
}

// The hooks own a reference, since a matcher may outlive all others.
Runtime GrammarMemory::make_runtime(const Memory &memory) {
    ggufx_allocator allocator = {};
    allocator.struct_size = sizeof allocator;
    allocator.alloc = alloc_hook;
    allocator.free = free_hook;
    allocator.destroy = destroy_hook;
    auto options = sized<ggufx_runtime_options>();
    options.allocator = &allocator;
    options.threads = 1;
    options.workspace_bytes = 1; // the least: nothing is computed
    allocator.user = new Memory(memory);
    ggufx_runtime *runtime = nullptr;
    call([&](ggufx_error *error) { return ggufx_runtime_create(&runtime, &options, error); });
    return Runtime(runtime);
}

std::vector<GrammarCache::Entry>::iterator
GrammarCache::place_of(uint64_t asker, uint64_t hash, uint32_t flags, std::string_view text) {
    return std::find_if(entries_.begin(), entries_.end(), [&](const Entry &entry) {
        return entry.hash == hash && entry.asker == asker && entry.grammar->flags == flags &&
               entry.grammar->text == text;
    });
}

SharedGrammar GrammarCache::find(uint64_t asker, uint32_t flags, std::string_view text) {
    const uint64_t hash = std::hash<std::string_view>()(text);
    const std::lock_guard lock(mutex_);
    const auto at = place_of(asker, hash, flags, text);
    if (at == entries_.end()) return nullptr;
    at->used = ++n_used_;
    n_cached_++;
    return at->grammar;
}

void GrammarCache::add(uint64_t asker, const SharedGrammar &grammar) {
    const uint64_t hash = std::hash<std::string_view>()(grammar->text);
    {
        const std::lock_guard lock(mutex_);
        // Another thread may have compiled the same one.
        if (place_of(asker, hash, grammar->flags, grammar->text) != entries_.end()) return;
        entries_.push_back({asker, hash, ++n_used_, grammar});
    }
    trim();
}

void GrammarCache::trim() {
    while (evict_one()) {} // each is freed without the lock
}

SharedGrammar GrammarCache::evict_one() {
    struct Share {
        uint64_t n_bytes = 0, n_entries = 0;
        void add(const Entry &entry) {
            n_bytes += entry.grammar->total_bytes();
            n_entries++;
        }
    };
    const std::lock_guard lock(mutex_);
    Share all;
    for (const Entry &entry : entries_) all.add(entry);
    const bool has_many = all.n_entries > kMostEntries;
    if (!has_many && all.n_bytes <= kMostBytes) return nullptr;
    std::map<uint64_t, Share> shares;
    for (const Entry &entry : entries_) shares[entry.asker].add(entry);
    const auto most =
        std::max_element(shares.begin(), shares.end(), [&](const auto &a, const auto &b) {
            return has_many ? a.second.n_entries < b.second.n_entries
                            : a.second.n_bytes < b.second.n_bytes;
        });
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at)
        if (at->asker == most->first && (oldest == entries_.end() || at->used < oldest->used))
            oldest = at;
    SharedGrammar out = std::move(oldest->grammar);
    if (oldest != entries_.end() - 1) *oldest = std::move(entries_.back());
    entries_.pop_back();
    return out;
}

GrammarCache::Counts GrammarCache::counts() const {
    const std::lock_guard lock(mutex_);
    Counts out = {n_compiled_, n_cached_, entries_.size(), 0};
    for (const Entry &entry : entries_) out.n_bytes += entry.grammar->total_bytes();
    return out;
}

} // namespace ggufx::cli
