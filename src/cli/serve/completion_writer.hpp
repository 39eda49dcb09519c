// A text being written: from logits to tokens, to characters, to what the reader gets.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/answer_plan.hpp"
#include "serve/metrics.hpp"

namespace ggufx::cli {

using Stop = std::unique_ptr<ggufx_stop, Destroyer<ggufx_stop_destroy>>;

struct CompletionPlan {
    uint32_t index = 0; // of the reply's texts
    size_t n_prompt = 0;
    bool counts_prompt = true; // in the reply's usage: the first text of each prompt
    uint32_t max_tokens = 0;
    bool logprobs = false;
    bool rates = false; // texts of a prompt are compared: the mean of their logprobs counts
    uint32_t n_top = 0;
    double taken = 0;    // when the request was
    double deadline = 0; // when its time is over; 0: never
    std::shared_ptr<void> ticket;
    std::vector<int32_t> echoed; // a prompt whose logprobs are told, too
    // A conversation: its output is split by the template's markers, with the request's tools.
    const AnswerPlan *answer = nullptr; // these two are read by the constructor alone
    const Prompt *prompt = nullptr;
    std::string tools;
    bool parallel_calls = true; // else the text ends after one call
};

class CompletionWriter final : public Writer {
public:
    using Clock = double (*)();
    CompletionWriter(const ModelHost &host, std::shared_ptr<Reply> reply, Metrics &metrics,
                     Clock clock, const CompletionPlan &plan, const Wanted &wanted, uint64_t seed);

    bool is_gone() override { return reply_->exchange().is_gone(); }
    bool is_late() override { return plan_.deadline > 0 && clock_() >= plan_.deadline; }
    void begin(size_t n_cached) override;
    void pass() override { reply_->exchange().keep_alive(clock_()); }
    void score(size_t first, std::span<const float> logits) override;
    std::optional<int32_t> next(std::span<const float> logits) override;
    void fail(const std::string &why, bool is_full) override;
    void stop(const std::string &why) override;

private:
    // Where a text that a request constrains stands.
    enum class Stage {
        free,      // no constraint
        reasoning, // free, and the constraint follows
        begun,     // the first token may begin reasoning, or a call in place of JSON
        opening,   // markers before JSON or the name of a call
        json,
        call,
    };
    std::optional<int32_t> write(std::span<const float> logits);
    void make_parser();
    Parser make_parser_of(const Prompt &prompt, uint32_t flags, bool is_told);
    std::optional<int32_t> close_reasoning(); // where the budget is used up
    void begin_answer(const AnswerPlan &plan);
    bool is_reasoning() const;
    Constraint constraint();
    void choose_stage(int32_t id);
    ggufx_chat_parser_facts parser_facts() const; // all 0 without a parser
    void begin_stage(Stage stage);
    int32_t sample(std::span<const float> logits, float &logprob);
    int32_t take(std::span<const float> logits, int32_t id, float &logprob);
    void note_scores(size_t first, std::span<const float> logits);
    TokenLogprob token_of(std::span<const float> logits, int32_t id, float logprob);
    void note_time();
    OutputTokens::Use use_of(int32_t id) const;
    bool add_token(int32_t id);
    bool add(int32_t id, const std::string &bytes); // true: the text is complete
    bool add_held(int32_t id, const std::string &bytes);
    void hold(int32_t id, const std::string &bytes);
    void show(size_t n_shown);
    void show_text(const std::string &text);
    void feed(const std::string &text); // to the parsers
    void end(const std::string &reason, const std::string &note = "");
    std::string piece(int32_t id, bool last);
    static int32_t on_event(void *user, uint32_t kind, uint64_t call, const char *text,
                            size_t length);

    const ModelHost &host_;
    std::shared_ptr<Reply> reply_;
    Metrics &metrics_;
    Clock clock_;
    CompletionPlan plan_;
    Sampler sampler_;
    Stage stage_ = Stage::free;
    std::vector<int32_t> given_; // tokens to take before any other, the next one last
    std::vector<int32_t> opening_;
    std::optional<int32_t> reasoning_open_, call_open_; // where a text has begun
    TokenSet allowed_;
    std::vector<float> masked_;
    Matcher matcher_; // of JSON
    std::optional<CallWriter> call_;
    Stop stop_;
    Parser parser_;
    Parser tracker_; // of reasoning that stays in the content
    ggufx_detokenize_state state_ = {};
    std::string held_; // bytes that may begin a stop text
    struct Special {   // bytes of a token among all bytes
        uint64_t begin, end;
        bool is_hidden; // else a marker of the parser's
    };
    std::deque<Special> specials_; // in what is held
    StrayMarkers strays_;
    uint64_t n_hidden_ = 0;             // bytes hidden so far
    uint64_t n_shown_ = 0;              // bytes before them
    uint64_t n_told_ = 0;               // of those, of an echoed prompt
    std::vector<TokenLogprob> pending_; // of tokens whose text is not shown yet
    std::vector<int32_t> top_ids_;
    std::vector<float> top_logprobs_;
    Delta delta_;
    uint32_t n_tokens_ = 0;
    double sum_logprobs_ = 0;
    const bool is_chat_, keeps_special_, keeps_reasoning_;
    std::optional<uint32_t> budget_; // tokens of reasoning that are left
    bool reasons_ = false, has_calls_ = false, is_stopped_ = false, has_failed_ = false;
    double begun_ = 0, last_ = 0;
};

} // namespace ggufx::cli
