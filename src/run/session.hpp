// Sequences of a model: caches and their tokens. All memory is allocated at creation; a failed
// decode leaves everything unchanged. If truncation leaves fewer tokens in the caches than in a
// sequence, the next decode recomputes the rest first.
// SPDX-License-Identifier: MIT
#pragma once

#include "graph/adapter/set.hpp"
#include "run/model.hpp"
#include "run/peers.hpp"

#include <memory>

namespace ggufx::model {

struct SessionOptions {
    uint32_t n_context = 0; // per sequence; 0 = the trained context, at most kDefaultContext
    uint32_t n_batch = 0;   // 0 = 512
    uint32_t type_k = 0;    // 0 = F16
    uint32_t type_v = 0;
    uint32_t n_checkpoints = 0;   // checkpoints of states; 0 = 8, fewer in a short context
    uint32_t n_sequences = 0;     // 0 = 1
    uint64_t n_context_total = 0; // total of all sequences; 0 = n_context of each
    matmul::Options matmul;       // without progress
};

constexpr uint32_t kNoCheckpoints = UINT32_MAX, kAllSequences = UINT32_MAX;

// ggufx_attention_hook.
struct AttentionHook {
    void *user = nullptr;
    int32_t (*layer)(void *user, uint32_t layer, uint64_t first, size_t n, const float *q,
                     const float *k, const float *v, const float *out) = nullptr;
};

// Tokens that a call appends to a sequence, with logits for the last n_logits and hidden states for
// the last n_hidden tokens.
struct BatchItem {
    uint32_t sequence = 0;
    const int32_t *tokens = nullptr; // [n]; null with embeddings: ids 0
    size_t n = 0, n_logits = 0, n_hidden = 0;
    bool mark = false;                  // sets a checkpoint after the tokens
    const float *embeddings = nullptr;  // [n][n_embd] rows that replace the tokens' own embeddings
    const int32_t *positions = nullptr; // [n]; null: the next ones
};

struct BatchOptions {
    Progress progress;                       // tokens done
    float *logits = nullptr;                 // [sum of n_logits][n_vocab], item after item
    float *hidden = nullptr;                 // [sum of n_hidden][n_embd], item after item
    const matmul::Options *matmul = nullptr; // null: the session's
    // Uses the outputs before the call is committed; a failure undoes the call. Throws nothing.
    struct Use {
        void *user = nullptr;
        Status (*outputs)(void *user, Failure *failure) = nullptr;
    } use;
    bool keeps_nan = false;  // outputs may hold NaN: a fault of one item fails no other
    AttentionHook attention; // for one item
};

// Time for a part of a step.
struct StepOptions {
    Progress progress;      // tokens done
    uint64_t budget_us = 0; // 0: until the step is complete
    Clock clock;
    uint64_t block_weights = kBlockWeights;
};

// Watchers of a decode that is not a call of the public interface.
struct Watchers {
    Progress progress;
    ProductWatcher *products = nullptr;
};

// Options with defaults filled in. Throws argument.
struct SessionPlan {
    SessionPlan(const Shape &shape, const SessionOptions &options);

    uint32_t n_batch;
    CacheOptions caches;
};

// Memory of a session besides the object itself. Throws Error (limit, errors of the caches).
struct SessionBytes {
    SessionBytes(const Host &host, const Graph &graph, const SessionPlan &plan, uint32_t n_slices);

    uint64_t caches;
    uint64_t rest; // scratch, tokens, a table of frequencies
};

class Session {
public:
    // model must outlive the session. Throws Error (argument, type) / std::bad_alloc.
    Session(const Model &model, const SessionOptions &options);
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    // Contracts: include/ggufx/model.h and batch.h. None of these throws.
    // Sequence indices must be below n_sequences().
    Status decode_batch(const BatchItem *items, size_t n_items, const BatchOptions &options,
                        Failure *failure);
    // A step is a decode_batch in parts, with its bits. open_step copies the items; the memory of
    // the outputs must stay. advance_step runs groups of operations until the budget is used up, at
    // least one. The step ends when it is complete, fails or is abandoned; the latter two restore
    // the session to the bit. Meanwhile calls that change or save the session fail with STATE.
    // Errors: those of decode_batch, STATE, UNSUPPORTED (ranks of a group). Nothing throws.
    Status open_step(const BatchItem *items, size_t n_items, const BatchOptions &options,
                     Failure *failure);
    Status advance_step(const StepOptions &options, bool *complete, Failure *failure);
    void abandon_step();
    bool has_step() const;
    uint64_t length(uint32_t sequence) const { return sequences_[sequence].length; }
    const int32_t *ids(uint32_t sequence) const { return sequences_[sequence].ids; } // [length]
    const int32_t *positions(uint32_t sequence) const { return sequences_[sequence].positions; }
    const uint8_t *modes(uint32_t sequence) const { return sequences_[sequence].modes; } // mode.hpp
    // Embeddings of the caller, a row for each token with kModeEmbedded.
    const float *embedded(uint32_t sequence) const { return sequences_[sequence].embedded.data(); }
    // Whether tokens were removed or shifted: a computation of its tokens would give other caches.
    bool is_edited(uint32_t sequence) const { return sequences_[sequence].edited; }
    size_t logits_size() const { return static_cast<size_t>(model_.shape().n_vocab); }
    const matmul::Options &matmul_options() const { return matmul_; }
    // Returns a counter of the calls that changed a sequence.
    uint64_t n_changes(uint32_t sequence) const { return sequences_[sequence].n_changes; }
    Status truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    // Sets adapters for an empty sequence, or for all with kAllSequences. Throws Error (argument,
    // mismatch, state) / std::bad_alloc; nothing has changed then.
    void set_adapters(uint32_t sequence, const AdapterSet::Use *uses, size_t n);
    Status copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure);
    Status remove(uint32_t sequence, uint64_t first, uint64_t n, Failure *failure);
    Status shift(uint32_t sequence, uint64_t first, uint64_t n, int32_t delta, Failure *failure);

    // Checks that a sequence has the n tokens from `first` on.
    static Status check_part(uint64_t length, uint64_t first, uint64_t n, uint32_t sequence,
                             Failure *failure);

    // Save and load tokens, caches and states of a sequence or of kAllSequences, without logits. A
    // rank saves tokens only, which are recomputed; all ranks must call load together. A failed
    // load changes nothing. Errors: those of Caches::load, invalid tokens (MALFORMED), more than
    // n_context tokens (CAPACITY).
    Status save(uint32_t sequence, WriteFn write, void *user, Failure *failure) const;
    Status load(uint32_t sequence, const Reader &reader, Failure *failure);
    // Also throw Error: failures of the file.
    Status save_path(uint32_t sequence, const char *path, Failure *failure) const;
    Status load_path(uint32_t sequence, const char *path, Failure *failure);

    static uint64_t sequence_bytes(uint32_t n_context); // per sequence, besides its cache
    static uint64_t call_bytes(uint32_t n_sequences);
    uint64_t embedded_bytes() const; // caller's embeddings that are kept

    const Model &model() const { return model_; }
    // Returns the identity of the model with the adapters of a sequence: it determines the logits.
    uint64_t identity(uint32_t sequence) const {
        return model_.identity() ^ AdapterSet::identity(sequences_[sequence].adapters.get());
    }
    const Caches &caches() const { return caches_; }
    uint32_t n_context() const { return n_context_; }
    uint32_t n_sequences() const { return static_cast<uint32_t>(sequences_.size()); }
    // Scratch for n_sequences() items, for callers that convert from another form.
    BatchItem *items() { return items_.data(); }

    // For perplexity and statistics: decodes sequence 0 in batches of at most n_batch tokens, whose
    // rows are projected one group at a time; undo advance() with truncate().
    uint32_t n_batch() const { return n_batch_; }
    Status check_ids(const int32_t *tokens, size_t n, Failure *failure) const;
    Status advance(const int32_t *tokens, size_t n, Failure *failure,
                   const Watchers &watchers = {});
    Status project(float *logits, size_t row, size_t n, Failure *failure,
                   const Watchers &watchers = {});

private:
    // A sequence; the caches hold its first `held` tokens.
    struct Sequence {
        int32_t *ids;       // [n_context]
        int32_t *positions; // [n_context], ascending
        uint8_t *modes;     // [n_context]: mode of each token, for recomputation
        uint64_t length, held;
        uint64_t end;           // in an open call: its final length; else 0
        Vector<float> embedded; // [n_embd] for each token with kModeEmbedded
        Ref<AdapterSet> adapters;
        bool edited; // the caches differ from a fresh computation of these tokens
        uint64_t n_changes;

        int64_t next_position() const { return length ? int64_t{positions[length - 1]} + 1 : 0; }
        uint64_t n_embedded(uint64_t n_tokens) const; // among the first n_tokens
    };
    struct Loaded;
    struct Arrived;
    class TokenReader;
    class Poll;
    class Call;
    struct DestroyCall {
        const Host *host;
        void operator()(Call *call) const;
    };
    using OwnedCall = std::unique_ptr<Call, DestroyCall>;
    struct CallOptions {
        matmul::Options matmul;
        AttentionHook attention; // for one item
        float *logits;           // [sum of n_logits][n_vocab]
        float *hidden = nullptr; // [sum of n_hidden][n_embd]
        ProductWatcher *products = nullptr;
        bool keeps_stream = false; // keeps all rows of the last batch, for project()
        BatchOptions::Use use = {};
        bool keeps_nan = false;
    };

    Session(const Model &model, const SessionPlan &plan, const matmul::Options &matmul);
    OwnedCall make_call(uint32_t n_sequences);
    Runner::Memory memory();
    CallOptions call_options(const BatchOptions &options) const;
    Status check_idle(Failure *failure) const;
    Status run(const BatchItem *items, size_t n_items, const CallOptions &options,
               const Progress &progress, Failure *failure);
    Status check_items(const BatchItem *items, size_t n_items, Failure *failure);
    Status check_item(const BatchItem &item, size_t index, Failure *failure) const;
    Status check_tokens(const BatchItem &item, Failure *failure) const;
    Status check_positions(const BatchItem &item, Failure *failure) const;
    Status check_embeddings(const BatchItem &item, Failure *failure) const;
    Status make_room(const BatchItem &item, Failure *failure);
    Status nearest(uint64_t *out, uint32_t index, uint64_t n_tokens, Failure *failure) const;
    void shorten(Sequence &sequence, uint64_t length) const;
    static void trim(Sequence &sequence);
    Status remove_held(uint32_t index, uint64_t first, uint64_t n, Failure *failure);
    int32_t end_of_positions() const;
    static void save_tokens(SnapshotOutput &out, const Sequence &sequence, uint64_t held);
    Status read_snapshot(uint32_t index, const Reader &reader, Arrived &out, Failure *failure);
    Status agree_on(const Arrived &arrived, Status own, Failure *failure) const;
    Status take_all(uint32_t index, Arrived &arrived, Status own, Failure *failure);
    Caches::Kept kept_caches(uint32_t index) const;
    void take(uint32_t index, Loaded &loaded);

    const Model &model_;
    const matmul::Options matmul_;
    const uint32_t n_context_, n_batch_;
    const SliceRunner::Owned slice_runner_; // null if no batch is cut
    Caches caches_;
    Buffer scratch_;
    Vector<const double *> frequencies_; // for each RoPE table
    BatchRows rows_;
    Vector<Sequence> sequences_;
    Vector<int32_t> ids_, positions_; // for all sequences
    Vector<uint8_t> modes_;           // the same
    Vector<BatchItem> items_;
    AdapterScratch adapter_scratch_;
    SlowestGroup slowest_; // measured by the latest step with a prompt
    const OwnedCall call_; // the first to go
};

} // namespace ggufx::model
