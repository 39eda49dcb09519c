// The memory of a session: a KV cache per shape of layers, and the states of recurrent layers.
// Calls affect all of them or none.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/snapshot_io.hpp"
#include "graph/graph.hpp"
#include "kv/cache.hpp"
#include "state/cache.hpp"

namespace ggufx::model {

struct CacheOptions {
    uint32_t n_context, type_k, type_v;
    uint32_t n_batch;         // most tokens that a layer appends at once
    uint32_t n_checkpoints;   // checkpoints of states, per sequence
    uint32_t n_sequences = 1; // n_context tokens each
    uint64_t n_total = 0; // tokens of all sequences in shared memory; 0: each sequence has its own
    uint64_t model = 0;   // model identity in snapshots
};

// Between calls all caches and states of a sequence hold the same tokens, at positions 0, 1, ...
// Only the constructor and estimate() throw.
class Caches {
public:
    // graph must outlive the caches. Allocates all memory for decoding. Throws Error /
    // std::bad_alloc.
    Caches(const Graph &graph, const Ref<Host> &host, const kernels::Kernels &kernels,
           const CacheOptions &options);
    ~Caches();
    Caches(const Caches &) = delete;
    Caches &operator=(const Caches &) = delete;

    // Returns the bytes of such caches. Throws Error.
    static uint64_t estimate(const Graph &graph, const Host &host, const CacheOptions &options);

    kv::Cache *const *caches() const { return caches_.data(); }
    state::StateCache *states() const { return states_; }

    // Begins a call of n_tokens tokens on a sequence; truncation dropped the first n_again of them.
    // Errors: MEMORY; CAPACITY when the memory shared by sequences is full.
    Status begin(uint32_t sequence, uint64_t n_again, uint64_t n_tokens, Failure *failure);
    // Records a checkpoint after n_tokens of an open call. After commit, truncate() may return to
    // it.
    void pass(uint32_t sequence, uint64_t n_tokens);
    // commit and rollback cannot fail between begin() and the end
    void commit(uint32_t sequence, uint64_t n_tokens);
    void rollback(uint32_t sequence);
    void mark(uint32_t sequence); // makes the committed length a checkpoint

    struct Memory {
        uint64_t bytes, n_pages, n_shared_pages;
    };
    Memory memory() const;
    uint64_t room() const; // tokens that still fit into shared memory; otherwise UINT64_MAX
    uint64_t length(uint32_t sequence) const;
    // Returns the longest prefix of the first n tokens from which decoding continues with the bits
    // of a fresh run: n itself, a page boundary, a checkpoint of states, or 0. Cost: linear in the
    // pages.
    uint64_t nearest(uint32_t sequence, uint64_t n_tokens) const;
    // Truncates to a result of nearest(): cannot fail.
    void truncate(uint32_t sequence, uint64_t n_tokens);
    // Shares the first n_tokens of another sequence, a result of nearest(), with an empty one. Pages
    // and states are shared. Unless all memory is shared, a page more of each layer is allocated, so
    // that decoding either allocates none. Errors: ARGUMENT, MEMORY, STATE; nothing has changed
    // then.
    Status copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure);
    // Changes all caches or none: prepared, then done, which cannot fail. Errors: MEMORY, STATE (a
    // window has dropped keys that would be visible), UNSUPPORTED (recurrent states cannot forget).
    Status prepare_remove(uint32_t sequence, const kv::Cache::Part &part, Failure *failure);
    void remove(uint32_t sequence, const kv::Cache::Part &part);
    Status prepare_shift(uint32_t sequence, const kv::Cache::Range &range, int32_t delta,
                         Failure *failure);
    void shift(uint32_t sequence, const kv::Cache::Range &range, int32_t delta);

    // A saved sequence, or all (kv::kAllSequences), and the identity of its adapters (0: none).
    struct Kept {
        uint32_t sequence;
        uint64_t adapters;
    };
    // Writes a snapshot. Errors: ARGUMENT, VALUE (a state holds NaN or an infinity), errors of the
    // writer.
    Status save(const Kept &kept, WriteFn write, void *user, Failure *failure) const;
    // Replaces a sequence, or all, by a snapshot of save(). Adapters and expected tokens must
    // match, else MISMATCH or MALFORMED. Old and new contents coexist until reader.ended, called
    // last, says that nothing will fail.
    // Errors: ARGUMENT, STATE, MEMORY, CAPACITY, MAGIC, VERSION, MISMATCH, MALFORMED, CHECKSUM,
    // errors of the reader; nothing has changed then.
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
