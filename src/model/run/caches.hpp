// What a session remembers: a cache of keys and values per kind of layer, and the states of
// recurrent layers. Calls concern all of them or none.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/snapshot_io.hpp"
#include "kv/cache.hpp"
#include "model/graph/graph.hpp"
#include "state/cache.hpp"

namespace ggufx::model {

struct CacheOptions {
    uint32_t n_context, type_k, type_v;
    uint32_t n_batch;         // tokens that a layer appends at once, at most
    uint32_t n_checkpoints;   // of states, per sequence
    uint32_t n_sequences = 1; // n_context tokens each
    uint64_t n_total = 0;     // tokens of all sequences share their memory; 0: each has its own
    uint64_t model = 0;       // told apart by snapshots
};

// Between calls all caches and states of a sequence hold the same tokens, at positions 0, 1, ...
// Nothing throws but the constructor and estimate.
class Caches {
public:
    // graph must outlive the caches. Throws Error / std::bad_alloc. All memory that decoding
    // needs is taken.
    Caches(const Graph &graph, const Ref<Host> &host, const kernels::Kernels &kernels,
           const CacheOptions &options);
    ~Caches();
    Caches(const Caches &) = delete;
    Caches &operator=(const Caches &) = delete;

    // Bytes that such caches take. Throws Error.
    static uint64_t estimate(const Graph &graph, const Host &host, const CacheOptions &options);

    kv::Cache *const *caches() const { return caches_.data(); }
    state::StateCache *states() const { return states_; }

    // A call on a sequence, whose first n_again tokens a cut left out, of n_tokens in all. Errors:
    // MEMORY; CAPACITY where the sequences share memory that is used up.
    Status begin(uint32_t sequence, uint64_t n_again, uint64_t n_tokens, Failure *failure);
    // After n_tokens of an open call: a place that truncate may come back to, once it commits.
    void pass(uint32_t sequence, uint64_t n_tokens);
    void commit(uint32_t sequence, uint64_t n_tokens); // neither fails between begin() and the end
    void rollback(uint32_t sequence);
    void mark(uint32_t sequence); // what is committed is a place to come back to

    struct Memory {
        uint64_t bytes, n_pages, n_shared_pages;
    };
    Memory memory() const;
    uint64_t room() const; // tokens that still fit where sequences share memory; else UINT64_MAX
    uint64_t length(uint32_t sequence) const;
    // The longest part of the first n tokens from which decoding goes on with the bits of a fresh
    // run: n itself, a border of pages, a checkpoint of states, or 0. Cost: linear in the pages.
    uint64_t nearest(uint32_t sequence, uint64_t n_tokens) const;
    // To what nearest() gave: cannot fail.
    void truncate(uint32_t sequence, uint64_t n_tokens);
    // Let an empty sequence begin with the first n_tokens of another one, which nearest() gave; all
    // before position `end`. Pages and states are shared; unless all memory is, a page more of each
    // layer is taken, so that decoding either takes none. Errors: ARGUMENT, MEMORY, STATE; nothing
    // has changed then.
    Status copy(uint32_t from, uint32_t to, uint64_t n_tokens, int32_t end, Failure *failure);
    // Of all caches or of none: prepared, then done, which cannot fail. Errors: MEMORY, STATE (a window
    // has dropped what would be seen), UNSUPPORTED (states cannot forget).
    Status prepare_remove(uint32_t sequence, const kv::Cache::TokenRange &part, Failure *failure);
    void remove(uint32_t sequence, const kv::Cache::TokenRange &part);
    Status prepare_shift(uint32_t sequence, int32_t p0, int32_t p1, int32_t delta,
                         Failure *failure);
    void shift(uint32_t sequence, int32_t p0, int32_t p1, int32_t delta);

    // A sequence as it is saved, or all (kv::kAllSequences), and what its adapters are told apart by
    // (0: none).
    struct Kept {
        uint32_t sequence;
        uint64_t adapters;
    };
    // Write what it holds. Errors: ARGUMENT, VALUE (a state holds NaN or an infinity), what the
    // writer returns.
    Status save(const Kept &kept, WriteFn write, void *user, Failure *failure) const;
    // Replace a sequence, or all, by what save() wrote; with these adapters, and each has what is
    // expected of it, else MISMATCH or MALFORMED. Old and new are there side by side until
    // reader.ended, which is asked last, says that nothing will fail.
    // Errors: ARGUMENT, STATE, MEMORY, CAPACITY, MAGIC, VERSION, MISMATCH, MALFORMED, CHECKSUM,
    // what the reader returns; nothing has changed then.
    Status load(const Kept &kept, const ExpectedTokens *expected, const Reader &reader,
                Failure *failure);

private:
    uint64_t header_value(uint32_t index, uint64_t adapters, uint64_t n_tokens) const;
    uint64_t n_tokens_of(uint32_t sequence) const;

    const Graph &graph_;
    CacheOptions options_;
    Vector<kv::Cache *> caches_;
    state::StateCache *states_ = nullptr;
};

} // namespace ggufx::model
