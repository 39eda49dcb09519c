// Compiled grammars by their content. Each API key has its own: a key learns nothing of the schemas
// of others, and a flood of one key evicts its own grammars only.
// SPDX-License-Identifier: MIT
#pragma once

#include "models/grammar_choice.hpp"

#include <atomic>
#include <mutex>

namespace ggufx::cli {

// Memory of one grammar, of its masks and of its matchers: the hooks of an allocator count it.
class GrammarMemory {
public:
    // Returns a runtime whose objects take their memory from `memory`. Throws Failure.
    static Runtime make_runtime(const std::shared_ptr<GrammarMemory> &memory);

    uint64_t n_bytes() const { return n_bytes_.load(std::memory_order_relaxed); }
    // Until no_limit(), allocations fail that would leave more than `most` bytes in use. These calls
    // belong to the thread that compiles.
    void limit(uint64_t most) {
        most_ = most;
        n_peak_ = n_bytes();
    }
    void no_limit() { most_ = UINT64_MAX; }
    bool is_exceeded() const { return is_exceeded_; }
    uint64_t n_peak() const { return n_peak_; }

    void *alloc(size_t size, size_t align);
    void free(void *memory, size_t size);

private:
    std::atomic<uint64_t> n_bytes_ = 0;
    uint64_t most_ = UINT64_MAX, n_peak_ = 0; // n_peak_: under a limit
    bool is_exceeded_ = false;
};

struct CompiledGrammar {
    uint32_t flags = 0; // GGUFX_GRAMMAR_* flags
    std::string text;   // its JSON Schema
    std::shared_ptr<const GrammarMemory> memory;
    Grammar handle;
    uint64_t n_steps = 0, n_bytes = 0, n_peak = 0; // its compilation, without masks

    // Memory in use by now. Thread-safe.
    uint64_t total_bytes() const { return memory->n_bytes() + text.size() + sizeof *this; }
};
using SharedGrammar = std::shared_ptr<const CompiledGrammar>;

// Thread-safe.
class GrammarCache {
public:
    static constexpr size_t kMostEntries = 4096;
    static constexpr uint64_t kMostBytes = 64u << 20;

    GrammarCache() { entries_.reserve(kMostEntries + 1); }
    // `asker`: id of the key or address. Returns NULL if there is none.
    SharedGrammar find(uint64_t asker, uint32_t flags, std::string_view text);
    // Keeps a grammar, and evicts others.
    void add(uint64_t asker, const SharedGrammar &grammar);
    // Evicts grammars until the limits hold, since masks grow with use: each time the least recently
    // used of the key with the most bytes, or entries.
    void trim();

    struct Counts {
        uint64_t n_compiled = 0, n_cached = 0; // compilations; grammars that were found
        uint64_t n_entries = 0, n_bytes = 0;
    };
    void count_compiled() { n_compiled_++; }
    Counts counts() const;

private:
    struct Entry {
        uint64_t asker, hash, used;
        SharedGrammar grammar;
    };
    std::vector<Entry>::iterator place_of(uint64_t asker, uint64_t hash, uint32_t flags,
                                          std::string_view text);
    SharedGrammar evict_one();

    mutable std::mutex mutex_;
    std::vector<Entry> entries_;
    uint64_t n_used_ = 0, n_cached_ = 0;
    std::atomic<uint64_t> n_compiled_ = 0;
};

} // namespace ggufx::cli
