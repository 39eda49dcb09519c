// One conversation: a KV cache, its length and the last logits. All memory is taken at create; a
// decode that fails leaves everything as it was.
// SPDX-License-Identifier: MIT
#pragma once

#include "model/arch/llama.hpp"

namespace ggufx::model {

struct SessionOptions {
    uint32_t n_context = 0; // 0 = the trained context
    uint32_t n_batch = 0;   // 0 = 512
    uint32_t type_k = 0;    // 0 = F16
    uint32_t type_v = 0;
    matmul::Options matmul; // without progress
};

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
    SessionPlan(const HyperParameters &hp, const SessionOptions &options);

    uint32_t n_context, n_batch;
    kv::Config cache;
    size_t n_logits; // kept, and as many of the decode that runs
};

// What a session takes from the allocator beside itself. Throws Error (limit, what the cache says).
struct SessionBytes {
    SessionBytes(const Host &host, const HyperParameters &hp, const SessionPlan &plan);

    uint64_t cache;
    uint64_t rest; // scratch and logits
};

class Session {
public:
    // model must outlive the session. Throws Error (argument, type) / std::bad_alloc.
    Session(const Model &model, const SessionOptions &options);
    ~Session();
    Session(const Session &) = delete;
    Session &operator=(const Session &) = delete;

    // The contracts of include/ggufx/model.h; none throws or allocates.
    Status decode(const int32_t *tokens, size_t n, const DecodeOptions &options, Failure *failure);
    Status logits(float *out, Failure *failure) const; // [n_vocab]
    uint64_t length() const { return length_; }
    Status truncate(uint64_t n_tokens, Failure *failure);

    const Model &model() const { return model_; }
    uint32_t n_context() const { return n_context_; }

    // For perplexity: a decode in steps of at most n_batch tokens, whose rows are projected one
    // group at a time. advance() leaves the logits invalid; undo by truncate().
    uint32_t n_batch() const { return n_batch_; }
    Status check_ids(const int32_t *tokens, size_t n, Failure *failure) const;
    Status advance(const int32_t *tokens, size_t n, Failure *failure);
    Status project(float *logits, size_t row, size_t n, Failure *failure);

private:
    Session(const Model &model, const SessionPlan &plan, const matmul::Options &matmul);
    class Poll;
    void end_call(Status status);
    Status decode_batches(const int32_t *tokens, size_t n, const DecodeOptions &options,
                          Failure *failure);

    const Model &model_;
    matmul::Options matmul_;
    uint32_t n_context_, n_batch_;
    Scratch scratch_;
    Vector<float> logits_, next_logits_; // of the last token; of the one being computed
    kv::Cache *cache_ = nullptr;
    uint64_t length_ = 0;
    bool has_logits_ = false;
};

} // namespace ggufx::model
