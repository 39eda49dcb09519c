// Output of one sequence: from logits to sampled tokens, to text, to the deltas of the reply.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/answer_plan.hpp"
#include "serve/metrics.hpp"

namespace ggufx::cli {

using Stop = std::unique_ptr<ggufx_stop, Destroyer<ggufx_stop_destroy>>;

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
    double taken = 0;                                // time at which the request was accepted
    double deadline = 0;                             // time at which the request expires; 0: never
    std::shared_ptr<void> ticket;
    std::vector<int32_t> echoed; // prompt tokens whose log-probabilities are returned, too
    bool echoes_special = false; // the echoed text spells its special tokens
    // Chat: the template's markers split the output, with the tools of the request.
    const AnswerPlan *answer = nullptr; // `answer` and `prompt` are read by the constructor alone
    const Prompt *prompt = nullptr;
    std::string tools;
    bool parallel_calls = true; // false: the generation ends after one call
};

// Returns the sampling of a request; throws ApiError if no sampler can be made from it.
std::shared_ptr<const SamplingOptions> checked_sampling(const ModelHost &host,
                                                        const Wanted &wanted);

class CompletionWriter final : public Writer {
public:
    using Clock = double (*)();
    CompletionWriter(const ModelHost &host, std::shared_ptr<Reply> reply, Metrics &metrics,
                     Clock clock, const CompletionPlan &plan, const Wanted &wanted, uint64_t seed);

    bool is_gone() noexcept override { return reply_->exchange().is_gone(); }
    bool is_late() noexcept override { return plan_.deadline > 0 && clock_() >= plan_.deadline; }
    void begin(size_t n_cached) override;
    void pass() noexcept override;
    void score(size_t first, std::span<const float> logits) override;
    std::optional<int32_t> next(std::span<const float> logits) override;
    void fail(const char *why, Fault fault) noexcept override;
    void stop(const char *why) noexcept override;

private:
    // Stage of a constrained generation.
    enum class Stage {
        free,      // unconstrained
        reasoning, // unconstrained reasoning; the constraint follows
        begun,     // the first token may open reasoning, or a call in place of JSON
        opening,   // forced markers before JSON or the name of a call
        json,
        call,
    };
    std::optional<int32_t> write(std::span<const float> logits);
    template <class Work> void attempt(const Work &work) noexcept; // an error ends the reply
    void make_parser();
    Parser make_parser_of(const Prompt &prompt, uint32_t flags, bool is_told);
    std::optional<int32_t> close_reasoning(); // closing marker when the budget is used up
    void begin_answer(const AnswerPlan &plan);
    bool is_reasoning() const;
    Constraint constraint();
    void choose_stage(int32_t id);
    ggufx_chat_parser_facts parser_facts() const; // zeros without a parser
    void begin_stage(Stage stage);
    int32_t sample(std::span<const float> logits, float &logprob);
    int32_t take(std::span<const float> logits, int32_t id, float &logprob);
    void note_scores(size_t first, std::span<const float> logits);
    TokenLogprob token_of(std::span<const float> logits, int32_t id, float logprob);
    void note_time();
    OutputTokens::Use use_of(int32_t id) const;
    bool add_token(int32_t id);
    bool add(int32_t id, const std::string &bytes); // returns true if the text is complete
    bool add_held(int32_t id, const std::string &bytes);
    void hold(int32_t id, const std::string &bytes);
    void show(size_t n_shown);
    void show_text(const std::string &text);
    void feed(const std::string &text); // passes text to the parsers
    void end(const std::string &reason, const std::string &note = "");
    std::string piece(int32_t id, bool last);
    std::string part(int32_t id, uint32_t flags);
    void note_prompt(size_t i, TokenLogprob token);
    uint64_t next_offset(const std::string &piece);
    static int32_t on_event(void *user, uint32_t kind, uint64_t call, const char *text,
                            size_t length);

    const ModelHost &host_;
    std::shared_ptr<Reply> reply_;
    Metrics &metrics_;
    Clock clock_;
    CompletionPlan plan_;
    uint64_t seed_;
    Sampler sampler_; // made with the first token: it is large, and many requests may wait
    Stage stage_ = Stage::free;
    std::vector<int32_t> given_; // forced tokens in reverse order, the next one last
    std::vector<int32_t> opening_;
    // Openers allowed at the start of the output.
    std::optional<int32_t> reasoning_open_, call_open_;
    TokenSet allowed_;
    std::vector<float> masked_;
    Matcher matcher_; // JSON grammar matcher
    std::optional<CallWriter> call_;
    Stop stop_;
    Parser parser_;
    Parser tracker_; // tracks reasoning that stays in the content
    ggufx_detokenize_state state_ = {};
    std::string held_; // bytes withheld because they may begin a stop string
    struct Special {   // byte range of a special token in the output
        uint64_t begin, end;
        bool is_hidden; // false: a marker for the parser
    };
    std::deque<Special> specials_; // special tokens within held_
    StrayMarkers strays_;
    uint64_t n_characters_ = 0;         // whole characters of the visible text so far
    unsigned n_missing_ = 0;            // bytes that the character of the last token lacks
    uint64_t n_shown_ = 0;              // bytes before held_, including hidden ones
    uint64_t n_told_ = 0;               // bytes of n_shown_ that belong to the echoed prompt
    std::vector<TokenLogprob> pending_; // tokens whose text is not shown yet
    std::vector<int32_t> top_ids_;
    std::vector<float> top_logprobs_;
    Delta delta_;
    uint32_t n_tokens_ = 0;
    double sum_logprobs_ = 0;
    const bool is_chat_, keeps_special_, keeps_reasoning_;
    std::optional<uint32_t> budget_; // remaining reasoning tokens
    bool reasons_ = false, has_calls_ = false, is_stopped_ = false, has_failed_ = false;
    double begun_ = 0, last_ = 0;
};

} // namespace ggufx::cli
