// One conversation: caches, its tokens and the last logits. All memory is taken at create; a decode
// that fails leaves everything as it was. Where a cut leaves fewer tokens in the caches than in the
// conversation, the next decode computes the rest again first.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/model.hpp"
#include "model/run/runner.hpp"

namespace ggufx::model {

struct SessionOptions {
    uint32_t n_context = 0; // 0 = the trained context, at most kDefaultContext
    uint32_t n_batch = 0;   // 0 = 512
    uint32_t type_k = 0;    // 0 = F16
    uint32_t type_v = 0;
    uint32_t n_checkpoints = 0; // of states; 0 = 8, fewer in a short context
    matmul::Options matmul;     // without progress
};

constexpr uint32_t kNoCheckpoints = UINT32_MAX;

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

// Options with their defaults put in. Throws argument.
struct SessionPlan {
    SessionPlan(const Shape &shape, const SessionOptions &options);

    uint32_t n_batch;
    CacheOptions caches;
};

// What a session takes from the allocator beside itself. Throws Error (limit, what the cache says).
struct SessionBytes {
    SessionBytes(const Host &host, const Program &program, const SessionPlan &plan);

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

    // The contracts of include/ggufx/model.h; none throws or allocates, but load().
    Status decode(const int32_t *tokens, size_t n, const DecodeOptions &options, Failure *failure);
    Status logits(float *out, Failure *failure) const; // [n_vocab]
    uint64_t length() const { return length_; }
    Status truncate(uint64_t n_tokens, Failure *failure);

    // Tokens, caches and states, without logits. A failed load changes nothing; what it refuses:
    // Caches::load, ids outside of the vocabulary (MALFORMED), more than n_context (CAPACITY).
    Status save(WriteFn write, void *user, Failure *failure) const;
    Status load(const Reader &reader, Failure *failure);

    const Model &model() const { return model_; }
    uint32_t n_context() const { return n_context_; }

    // For perplexity: a decode in steps of at most n_batch tokens, whose rows are projected one
    // group at a time. advance() drops the logits; undo by truncate().
    uint32_t n_batch() const { return n_batch_; }
    Status check_ids(const int32_t *tokens, size_t n, Failure *failure) const;
    Status advance(const int32_t *tokens, size_t n, Failure *failure);
    Status project(float *logits, size_t row, size_t n, Failure *failure);

private:
    Session(const Model &model, const SessionPlan &plan, const matmul::Options &matmul);
    class Poll;
    Runner runner(const matmul::Options &options);
    Status replay(Runner &run, Failure *failure);
    Status end_call(Status status, const int32_t *tokens, size_t n);
    Status decode_call(const int32_t *tokens, size_t n, const DecodeOptions &options,
                       Failure *failure);
    Status decode_batches(Runner &run, Poll &poll, const int32_t *tokens, size_t n,
                          const DecodeOptions &options, Failure *failure);

    const Model &model_;
    matmul::Options matmul_;
    uint32_t n_context_, n_batch_;
    Caches caches_;
    Buffer scratch_;
    Vector<float> logits_, next_logits_; // of the last token; of the one being computed
    Vector<const double *> frequencies_; // of each rotation
    Vector<int32_t> ids_;                // [n_context], of which length_ count
    uint64_t length_ = 0;
    uint64_t held_ = 0; // of those, what the caches hold
    bool has_logits_ = false;
};

} // namespace ggufx::model
