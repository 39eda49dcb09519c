// A model that answers: a session whose cache holds what is the same in every prompt, a sampler, a
// template.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/conversation.hpp"
#include "chat/tools.hpp"
#include "models/drafting.hpp"
#include "models/finish.hpp"
#include "models/grammar_choice.hpp"
#include "models/output_tokens.hpp"
#include "models/sampling_defaults.hpp"

#include <functional>

namespace ggufx::cli {

struct ChatOptions {
    std::string model; // empty: the embedded one
    std::string template_name, system, tools, load, save;
    std::string prefill; // what each answer begins with
    bool no_think = false, continues = false;
    uint32_t n_predict = 0; // 0: up to the end of the context
    SamplingOptions sampling;
    SessionOptions session;
    GrammarChoice grammar;
    DraftOptions drafter;
};

using ChatTemplate = std::unique_ptr<ggufx_chat, Destroyer<ggufx_chat_destroy>>;

// What became of a turn.
struct Answered {
    Turn turn;
    size_t n_prompt = 0, n_reused = 0; // tokens of the prompt; those the cache had
    size_t n_tokens = 0;
    double prompt_seconds = 0, seconds = 0;
    bool interrupted = false;            // by Ctrl-C
    Finish finish = Finish::none;        // none where it was interrupted
    size_t n_dropped = 0;                // turns that went
    ggufx_speculator_facts drafter = {}; // of all answers so far, where tokens are guessed
};

// Kinds are GGUFX_CHAT_*.
using Shown = std::function<void(uint32_t kind, std::string_view text)>;

class Engine {
public:
    Engine(const Globals &globals, const ChatOptions &options);

    // Answers the last turn, or goes on with it where it is an answer: the turn that comes has both
    // parts. The oldest turns leave `conversation` where the context is too small;
    // throws Failure (usage) where the last one alone is. Ctrl-C ends the answer, not the call.
    Answered answer(Conversation &conversation, const Shown &show);

    size_t n_context() const { return n_context_; }
    size_t n_cached() const { return cached_.size(); }
    const std::string &name() const { return name_; } // of the model
    uint64_t seed() const { return sampling_.seed; }
    // The next answer starts again from a seed; without a value one is drawn.
    void set_seed(std::optional<uint64_t> seed);
    const Tools &tools() const { return tools_; }

private:
    struct Prompt {
        std::vector<int32_t> ids;
        std::string text;  // as the parser of the output needs it
        std::string begun; // markers that it reads first
    };
    void restart_sampler();
    void make_template(const ChatOptions &options);
    void set_grammar(const ChatOptions &options);
    ggufx_chat_request request_of(const std::string &messages, bool continues) const;
    std::string render(const ggufx_chat_request &request) const;
    Prompt prompt_of(const Conversation &conversation) const;
    void start_output(Prompt &prompt, const Conversation &conversation) const;
    Prompt fitting_prompt(Conversation &conversation, Answered &out) const;
    size_t feed(const std::vector<int32_t> &ids); // how many the cache had
    bool decode(const int32_t *ids, size_t n);    // false: interrupted
    void taken(const int32_t *ids, size_t n);
    int32_t next(ggufx_matcher *matcher);                             // NULL: any token
    bool guess(ggufx_matcher *matcher, size_t n_tokens, int32_t *id); // false: interrupted
    void take_stock();
    bool is_full() const;
    std::string piece(int32_t id, ggufx_detokenize_state &state, bool last) const;

    const Globals &globals_;
    Runtime rt_;
    File file_;
    Model model_;
    Session session_;
    std::optional<Drafter> drafter_; // go before the session
    SamplingOptions sampling_;
    Sampler sampler_; // none: the next answer restarts it
    Tokenizer tokenizer_;
    ChatTemplate chat_;
    Grammar grammar_; // of answers, where there is one
    Tools tools_;
    std::string name_;
    ggufx_chat_facts facts_ = {}; // of the template
    OutputTokens output_tokens_;
    uint32_t flags_ = 0, n_predict_ = 0;
    size_t n_context_ = 0;
    std::vector<int32_t> cached_; // what the session holds
    std::optional<int32_t> told_; // the sampler knows of it, the session does not
    std::vector<float> logits_;
};

} // namespace ggufx::cli
