// Generation of one sequence: a generator of the session, and its events as the deltas of the reply.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/metrics.hpp"
#include "serve/model_host.hpp"
#include "serve/reply.hpp"

namespace ggufx::cli {

struct CompletionPlan {
    uint32_t index = 0; // index among the reply's sequences
    size_t n_prompt = 0;
    // Adds the prompt to the reply's usage: the first sequence of each prompt.
    bool counts_prompt = true;
    uint32_t max_tokens = 0;
    bool logprobs = false;
    bool rates = false; // best_of ranks the sequences by mean log-probability
    uint32_t n_top = 0;
    std::shared_ptr<const SamplingOptions> sampling; // see checked_sampling()
    std::shared_ptr<const Wanted> wanted;            // shared by the sequences of a request
    double taken = 0;                                // time at which the request was accepted
    double deadline = 0;                             // time at which the request expires; 0: never
    std::shared_ptr<void> ticket;
    bool scores = false;         // log-probabilities of the prompt are returned, too
    bool echoes_special = false; // the echoed text spells its special tokens
    SharedPrompt chat;           // NULL: the prompt is that of the job
};

// Returns the sampling of a request; throws ApiError if no sampler can be made from it.
std::shared_ptr<const SamplingOptions> checked_sampling(const ModelHost &host,
                                                        const Wanted &wanted);

class CompletionWriter final : public GeneratorWriter {
public:
    using Clock = double (*)();
    CompletionWriter(const ModelHost &host, std::shared_ptr<Reply> reply, Metrics &metrics,
                     Clock clock, const CompletionPlan &plan, uint64_t seed);

    bool is_gone() noexcept override { return reply_->exchange().is_gone(); }
    bool is_late() noexcept override { return plan_.deadline > 0 && clock_() >= plan_.deadline; }
    void start(uint32_t sequence, std::span<const int32_t> prompt) override;
    void suspend() override;
    void close() noexcept override { generator_.reset(); }
    void begin(size_t n_cached) override;
    void pass() noexcept override;
    bool advance() override;
    void fail(const char *why, Fault fault) noexcept override;
    void stop(const char *why) noexcept override;

private:
    template <class Work> void attempt(const Work &work) noexcept; // an error ends the reply
    void create(uint32_t sequence, std::span<const int32_t> prompt);
    bool take_events();
    void take_event(const ggufx_event &event);
    void take_token(const ggufx_event_token &token);
    void take_prompt(const ggufx_event &event);
    void count_characters_of(int32_t id, bool keeps_special, uint32_t flags);
    void finish_event(const ggufx_event &event);
    void note_time(uint64_t n_before);
    void end(const std::string &reason, const std::string &note = "");
    uint64_t next_offset(const std::string &piece);

    const ModelHost &host_;
    std::shared_ptr<Reply> reply_;
    Metrics &metrics_;
    Clock clock_;
    CompletionPlan plan_;
    uint64_t seed_;
    ggufx_detokenize_state state_ = {}; // for the characters that are counted
    uint64_t n_characters_ = 0;         // whole characters of the visible text so far
    unsigned n_missing_ = 0;            // bytes that the character of the last token lacks
    Delta delta_;
    uint64_t n_tokens_ = 0;
    bool has_calls_ = false;
    double begun_ = 0, last_ = 0;
};

} // namespace ggufx::cli
