// The generation of one sequence: prompt, sampling, grammar, text, events. It knows its tokens; the
// sequence of the session is a cache of them. Contract: include/ggufx/generator.h.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/snapshot_io.hpp"
#include "generate/drafts.hpp"
#include "generate/text.hpp"
#include "generate/tokens.hpp"
#include "sampling/chain.hpp"

namespace ggufx::generate {

class Steps;

// Values of GGUFX_GENERATOR_STATE_*.
enum class State : uint32_t { empty = 0, prefill = 1, decode = 2, suspended = 3, ended = 4 };

struct GeneratorOptions {
    uint32_t sequence = 0;
    uint32_t max_tokens = 0; // 0: until the context is full
    bool tiled_decode = false, ignores_eog = false, scores_prompt = false, logprobs = false;
    bool penalizes_output = false; // the sampler does not see the prompt
    uint32_t n_logprobs = 0;
    uint32_t max_reasoning = UINT32_MAX; // tokens of reasoning, before its end is forced
    Ref<Grammar> grammar;                // null: any text
    std::optional<DraftOptions> drafts;
};

struct Prompt {
    explicit Prompt(const Host *host) : tokens(host) {}
    Tokens tokens;             // without those that it is appended to
    Ref<Format> format;        // for messages, else null
    bool appends = false;      // after the tokens of the sequence
    bool marks = false;        // keeps a checkpoint at its end
    bool any_mode = false;     // reuses tokens that were computed in another mode
    bool keeps_random = false; // random numbers go on
};

class Generator {
public:
    // session and steps must outlive it. Throws Error (argument, state) / std::bad_alloc.
    Generator(model::Session &session, Steps &steps, sampling::Chain sampler,
              const GeneratorOptions &options, const Text::Options &text);
    // The same again on an empty sequence, to which it copies the caches. Throws Error (argument,
    // mismatch, state) / std::bad_alloc.
    Generator(Generator &other, uint32_t sequence);
    Generator(const Generator &) = delete;
    ~Generator();

    // Throws Error (argument, capacity, limit, state) / std::bad_alloc; nothing has changed then.
    void set_prompt(Prompt &&prompt);
    void suspend();
    uint64_t resume(uint32_t sequence); // returns the number of tokens that the sequence holds
    void truncate(size_t n_tokens);
    void reseed(uint64_t seed); // throws nothing
    // Makes the format of messages again from what a snapshot has of it. Throws.
    struct FormatSource {
        const void *user;
        Ref<Format> (*make)(const void *user, const FormatTexts &of);
    };
    Status save(SnapshotOutput &out, Failure *failure) const; // throws Error (state, unsupported)
    // Loads a snapshot into a new generator, which is of no use after a failure. Throws Error
    // (magic, version, malformed, checksum, mismatch, errors of the parts) / std::bad_alloc.
    void load(SnapshotInput &in, const FormatSource &formats);
    bool poll(Event &out); // throws nothing
    void cancel() const { cancelled_.store(1, Order::release); }

    // Modes of the tokens of prompts and answers.
    uint8_t prompt_mode() const { return model::mode_of(prompt_products()); }
    uint8_t answer_mode() const;

    struct Facts {
        State state;
        End end;
        uint32_t sequence;
        size_t n_events;
        uint64_t n_prompt, n_reused, n_left, n_tokens, n_reasoning, n_drafted, n_accepted, bytes;
        double sum_logprobs;
    };
    Facts facts() const;
    const Vector<int32_t> &ids() const { return tokens_.ids; }
    const model::Session &session() const { return session_; }
    bool scores_prompt() const { return options_.scores_prompt; }

    // ---- for Steps

    bool is_cancelled() const { return cancelled_.load(Order::acquire) != 0; }
    bool has_ended() const { return end_ != End::none; }
    uint32_t sequence() const { return options_.sequence; }
    bool has_sequence() const { return has_sequence_; }
    bool has_work() const { return tokens_.size() > held_ && !has_ended() && has_sequence_; }
    const Event &last() const { return last_; } // after the end
    // Replays the output if a failed call has left it, and finds the tokens that the sequence
    // holds. Throws; nothing has changed then.
    void prepare();
    uint8_t next_mode() const { return model::products_of(tokens_.modes[held_]); }
    // Drafts for a step with its next token alone; run_drafts goes on.
    void begin_drafts();
    bool has_drafts() const { return drafts_ && drafts_->is_running(); }
    Status run_drafts(const Drafts::Part &part, bool *complete, Failure *failure) {
        return drafts_->run(tokens_.ids, part, complete, failure);
    }
    bool has_drafted() const { return drafts_ && drafts_->n_drafts() > 0; }
    void drop_drafts() {
        if (drafts_) drafts_->drop();
    }
    // Returns at most so many of the next tokens, all of one mode, for a step.
    model::BatchItem next_tokens(size_t most) const;
    // Uses the rows of logits of an item. Throws Error / std::bad_alloc; then undo() is called.
    void take(const model::BatchItem &item, const float *logits);
    void undo();
    // Ends outside of a pass. Throws std::bad_alloc; nothing has changed then.
    void end_now(End end, Status status = Status::ok, std::string_view why = {});
    void end_suspended(); // throws; nothing has changed then
    // The session holds the tokens of the item.
    void keep(const model::BatchItem &item);
    // Ends the generation; text that was held back becomes events. Throws std::bad_alloc; then undo() is
    // called.
    void finish(End end, Status status = Status::ok, std::string_view why = {}, uint32_t index = 0);
    void begin_undo();

private:
    struct Undo { // state before a step
        EventQueue::Mark queue;
        sampling::Chain::State sampler;
        size_t n_ids = 0, n_scored = 0;
        uint64_t n_matched = 0, n_reasoning = 0;
        bool has_told_prompt = false;
        double sum_logprobs = 0;
    };
    matmul::Options prompt_products() const;
    bool is_scored() const { return options_.scores_prompt && n_scored_ < n_prompt_; }
    void restore_sampler(const sampling::Chain::State &state);
    void accept(const int32_t *ids, size_t n);
    void accept_all();
    const Host *host() const;
    void cut(uint64_t n);
    void restart_text();
    class Reading;
    void require_idle() const;
    void copy_caches(Generator &other);
    void match();
    uint64_t reusable(bool any_mode) const;
    void take_drafts(const model::BatchItem &item, const float *logits);
    Owned<Matcher> matcher_of(size_t n_tokens) const;
    void score(const model::BatchItem &item, const float *logits);
    void log_token(int32_t id, float logprob, const float *logits, uint64_t offset, uint64_t end);
    bool sample(int32_t *id, float *logprob, const float *logits, sampling::Allowed allowed);
    void end_unmatched(const Failure &failure);
    int32_t plan_next(sampling::Allowed *allowed);
    bool rate(int32_t id, float *logprob, const float *logits);
    bool ends_with(int32_t id) const;
    void show(int32_t id, EventQueue *queue);
    void force_end_of_reasoning();
    void take_token(const float *logits);
    void plan_token();
    void pass_token();
    bool choose(int32_t *id, float *logprob, const float *logits);
    void check_limits(bool ends);
    bool is_eog(int32_t id) const { return !options_.ignores_eog && text_.ends(id); }

    model::Session &session_;
    Steps &steps_;
    GeneratorOptions options_;
    uint64_t fingerprint_; // checksum of the options that decide the events
    sampling::Chain sampler_;
    Text text_;
    EventQueue queue_;
    Tokens tokens_; // prompt and answer
    Ref<Format> format_;
    Owned<Matcher> matcher_;
    Owned<Constraint> constraint_; // that of the format
    std::optional<Drafts> drafts_;
    Vector<Logprob> top_;
    Vector<int32_t> top_ids_;
    Vector<float> top_logits_;
    size_t n_prompt_ = 0, n_reused_ = 0;
    size_t held_ = 0;        // tokens that the sequence holds
    uint64_t n_changes_ = 0; // changes of the sequence, when it held them
    size_t n_scored_ = 0;    // tokens of the prompt that have log-probabilities
    uint64_t n_matched_ = 0; // tokens that the matcher has accepted
    uint64_t n_reasoning_ = 0;
    double sum_logprobs_ = 0;
    uint32_t reasoning_left_ = 0; // tokens of reasoning before its end is forced
    Vector<int32_t> forced_;      // tokens of that end, from n_forced_ on
    size_t n_forced_ = 0;
    // Token with which the end of reasoning was forced because the model would have ended.
    size_t closes_at_ = SIZE_MAX;
    End end_ = End::none;
    Event last_;               // the end
    bool is_appended_ = false; // the prompt follows tokens that cannot be computed again
    bool has_told_prompt_ = false, marks_ = false;
    bool has_sequence_ = true;
    size_t n_verified_ = 0;     // tokens of the latest item that stay in the sequence
    bool text_spoiled_ = false; // a failed call has left it: it is replayed before the next step
    Undo undo_;
    mutable Atomic<uint32_t> cancelled_{0};
};

} // namespace ggufx::generate
