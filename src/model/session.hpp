// Conversations with a model: caches, their tokens, the last logits of the first one. All memory is
// taken at create; a decode that fails leaves everything as it was. Where a cut leaves fewer tokens
// in the caches than in a conversation, its next decode computes the rest again first.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/adapter/set.hpp"
#include "model/model.hpp"
#include "model/run/runner.hpp"

namespace ggufx::model {

struct SessionOptions {
    uint32_t n_context = 0; // of each sequence; 0 = the trained context, at most kDefaultContext
    uint32_t n_batch = 0;   // 0 = 512
    uint32_t type_k = 0;    // 0 = F16
    uint32_t type_v = 0;
    uint32_t n_checkpoints = 0;   // of states; 0 = 8, fewer in a short context
    uint32_t n_sequences = 0;     // 0 = 1
    uint64_t n_context_total = 0; // of all sequences; 0 = n_context of each
    matmul::Options matmul;       // without progress
};

constexpr uint32_t kNoCheckpoints = UINT32_MAX, kAllSequences = UINT32_MAX;

// ggufx_attention_hook.
struct AttentionHook {
    void *user = nullptr;
    int32_t (*layer)(void *user, uint32_t layer, uint64_t first, size_t n, const float *q,
                     const float *k, const float *v, const float *out) = nullptr;
};

struct DecodeOptions {
    Progress progress; // tokens done
    AttentionHook attention;
    float *all_logits = nullptr; // [n_tokens][n_vocab], or null: of the last token alone
};

// Tokens that a call appends to a sequence; of the last n_logits of them logits are wanted, of the
// last n_hidden the hidden states.
struct BatchItem {
    uint32_t sequence = 0;
    const int32_t *tokens = nullptr; // [n]; null beside embeddings: the ids 0
    size_t n = 0, n_logits = 0, n_hidden = 0;
    bool mark = false;                 // where they end is a place to come back to
    const float *embeddings = nullptr; // [n][n_embd] rows of the stream in place of the tokens' own
    const int32_t *positions = nullptr; // [n]; null: the next ones
};

struct BatchOptions {
    Progress progress;                       // tokens done
    float *logits = nullptr;                 // [sum of n_logits][n_vocab], item after item
    float *hidden = nullptr;                 // [sum of n_hidden][n_embd], item after item
    const matmul::Options *matmul = nullptr; // null: those of the session
};

// Of a decode that is not a call of the public interface.
struct Watchers {
    Progress progress;
    ProductWatcher *products = nullptr;
};

// Options with their defaults put in. Throws argument.
struct SessionPlan {
    SessionPlan(const Shape &shape, const SessionOptions &options);

    uint32_t n_batch;
    CacheOptions caches;
};

// What a session takes from the allocator beside itself. Throws Error (limit, what the cache says).
struct SessionBytes {
    SessionBytes(const Host &host, const Graph &graph, const SessionPlan &plan,
                 uint32_t n_ranks = 1);

    uint64_t caches;
    uint64_t rest; // scratch, logits, tokens, a table of frequencies
};

class Session {
public:
    // model must outlive the session. Throws Error (argument, type) / std::bad_alloc.
    Session(const Model &model, const SessionOptions &options);
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    // The contracts of include/ggufx/model.h and batch.h; none throws but decode_batch (bad_alloc,
    // with embeddings). Sequences are below n_sequences().
    Status decode(const int32_t *tokens, size_t n, const DecodeOptions &options, Failure *failure);
    Status decode_batch(const BatchItem *items, size_t n_items, const BatchOptions &options,
                        Failure *failure);
    Status logits(float *out, Failure *failure) const; // [n_vocab]
    uint64_t length(uint32_t sequence) const { return sequences_[sequence].length; }
    const int32_t *ids(uint32_t sequence) const { return sequences_[sequence].ids; } // [length]
    const int32_t *positions(uint32_t sequence) const { return sequences_[sequence].positions; }
    size_t logits_size() const { return logits_.size(); }
    const matmul::Options &matmul_options() const { return matmul_; }
    // Grows with each call that changed sequence 0.
    uint64_t n_changes() const { return n_changes_; }
    Status truncate(uint32_t sequence, uint64_t n_tokens, Failure *failure);
    // Of an empty sequence, or of all where it is kAllSequences. Throws Error (argument, mismatch,
    // state) / std::bad_alloc; nothing has changed then.
    void set_adapters(uint32_t sequence, const AdapterSet::Use *uses, size_t n);
    Status copy(uint32_t from, uint32_t to, uint64_t n_tokens, Failure *failure);
    Status remove(uint32_t sequence, uint64_t first, uint64_t n, Failure *failure);
    Status shift(uint32_t sequence, uint64_t first, uint64_t n, int32_t delta, Failure *failure);

    // Whether n tokens from `first` on are among those of a sequence.
    static Status check_part(uint64_t length, uint64_t first, uint64_t n, uint32_t sequence,
                             Failure *failure);

    // Tokens, caches and states of a sequence or of kAllSequences, without logits; of a rank tokens
    // alone, which are computed again. A load is a call of all ranks. A failed one changes nothing;
    // what it refuses: Caches::load, what tokens cannot be (MALFORMED), more than n_context
    // (CAPACITY).
    Status save(uint32_t sequence, WriteFn write, void *user, Failure *failure) const;
    Status load(uint32_t sequence, const Reader &reader, Failure *failure);
    // Throws Error as well: what the file fails with.
    Status save_path(uint32_t sequence, const char *path, Failure *failure) const;
    Status load_path(uint32_t sequence, const char *path, Failure *failure);

    static uint64_t sequence_bytes(uint32_t n_context); // of each, beside its cache
    uint64_t embedded_bytes() const;                    // of rows of the caller's that are kept

    const Model &model() const { return model_; }
    // Of the model and the adapters of a sequence: what its logits are of.
    uint64_t identity(uint32_t sequence) const {
        return model_.identity() ^ AdapterSet::identity(sequences_[sequence].adapters.get());
    }
    const Caches &caches() const { return caches_; }
    uint32_t n_context() const { return n_context_; }
    uint32_t n_sequences() const { return static_cast<uint32_t>(sequences_.size()); }
    // Room for n_sequences() items, for who has them in another form.
    BatchItem *items() { return items_.data(); }

    // For perplexity and statistics: a decode in operations of at most n_batch tokens, whose rows are
    // projected one group at a time. advance() drops the logits; undo by truncate(). Of sequence 0.
    uint32_t n_batch() const { return n_batch_; }
    Status check_ids(const int32_t *tokens, size_t n, Failure *failure) const;
    Status advance(const int32_t *tokens, size_t n, Failure *failure,
                   const Watchers &watchers = {});
    Status project(float *logits, size_t row, size_t n, Failure *failure,
                   const Watchers &watchers = {});

private:
    // A conversation, of which the caches hold the first tokens.
    struct Sequence {
        int32_t *ids;       // [n_context]
        int32_t *positions; // [n_context], ascending
        uint8_t *modes;     // [n_context]: how each was computed, for when it is again
        uint64_t length, held;
        uint64_t end;           // of an open call: its length then; else 0
        Vector<float> embedded; // [n_embd] of each token that is kModeEmbedded
        Ref<AdapterSet> adapters;
        bool edited; // what the caches hold is not what these tokens would come to now

        int64_t next_position() const { return length ? int64_t{positions[length - 1]} + 1 : 0; }
        uint64_t n_embedded(uint64_t n_tokens) const; // of the first so many
    };
    struct Loaded;
    struct Arrived;
    class TokenReader;
    class Poll;
    class Call;

    Session(const Model &model, const SessionPlan &plan, const matmul::Options &matmul);
    Runner runner(const matmul::Options &options);
    Status check_items(const BatchItem *items, size_t n_items, Failure *failure);
    Status check_item(const BatchItem &item, size_t index, Failure *failure) const;
    Status check_tokens(const BatchItem &item, Failure *failure) const;
    Status check_positions(const BatchItem &item, Failure *failure) const;
    Status check_embeddings(const BatchItem &item, Failure *failure) const;
    Status make_room(const BatchItem &item, Failure *failure);
    Status nearest(uint64_t *out, uint32_t index, uint64_t n_tokens, Failure *failure) const;
    void shorten(Sequence &sequence, uint64_t length) const;
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
    const Slicing slicing_;
    Caches caches_;
    Buffer scratch_;
    Vector<float> logits_, next_logits_; // of the last token; of the one being computed
    Vector<const double *> frequencies_; // of each rotation
    BatchRows rows_;
    Vector<Sequence> sequences_;
    Vector<int32_t> ids_, positions_; // of all sequences
    Vector<uint8_t> modes_;           // the same
    Vector<BatchItem> items_;
    AdapterScratch adapter_scratch_;
    const Messenger::Owned messenger_; // null where no batch is cut
    bool has_logits_ = false;          // of sequence 0
    uint64_t n_changes_ = 0;
};

} // namespace ggufx::model
