// Chat engine: session with a prefix cache, sampler and chat template.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/conversation.hpp"
#include "chat/tools.hpp"
#include "models/generation.hpp"
#include "models/grammar_choice.hpp"
#include "models/sampling_defaults.hpp"

#include <functional>

namespace ggufx::cli {

struct ChatOptions {
    std::string model; // empty: the embedded model
    std::string template_name, system, tools, load, save;
    std::string prefill; // forced start of each answer
    bool no_think = false, continues = false;
    uint32_t n_predict = 0; // 0: up to the end of the context
    SamplingOptions sampling;
    SessionOptions session;
    GrammarChoice grammar;
    DraftOptions drafter;
};

using ChatTemplate = std::unique_ptr<ggufx_chat, Destroyer<ggufx_chat_destroy>>;

// Result of a turn.
struct Answered {
    Turn turn;
    size_t n_prompt = 0, n_reused = 0; // prompt tokens; those reused from the cache
    size_t n_tokens = 0;
    double prompt_seconds = 0, seconds = 0; // up to the first event, and after it
    ggufx_end end = GGUFX_END_NONE;         // cancelled: by Ctrl-C
    size_t n_dropped = 0;                   // turns dropped to fit the context
    bool has_drafts = false;                // speculative decoding; totals since the seed was set:
    uint64_t n_drafted = 0, n_accepted = 0;

    bool interrupted() const { return end == GGUFX_END_CANCELLED; }
};

using Shown = std::function<void(ggufx_event_kind kind, std::string_view text)>;

class Engine {
public:
    Engine(const Globals &globals, const ChatOptions &options);

    // Answers the last turn, or continues it if it is an answer; the returned turn then has both
    // parts. If the context is too small, the oldest turns are removed from `conversation`. Throws
    // Failure (usage) if the last turn alone does not fit. Ctrl-C ends the answer, not the call.
    Answered answer(Conversation &conversation, const Shown &show);

    size_t n_context() const { return n_context_; }
    size_t n_cached() const { return ggufx_session_sequence_length(session_.get(), 0); }
    const std::string &name() const { return name_; } // name of the model
    uint64_t seed() const { return sampling_.seed; }
    // Random numbers start again with this seed; without a value it is random.
    void set_seed(std::optional<uint64_t> seed);
    const Tools &tools() const { return tools_; }

private:
    void make_template(const ChatOptions &options);
    void set_grammar(const ChatOptions &options);
    void make_generator();
    ggufx_status set_prompt(const Conversation &conversation, ggufx_error *error) const;
    void fit(Conversation &conversation, Answered &out) const;

    const Globals &globals_;
    Runtime rt_;
    File file_;
    Model model_;
    Session session_;
    Drafts drafts_;
    SamplingOptions sampling_;
    Tokenizer tokenizer_;
    ChatTemplate chat_;
    Grammar grammar_; // grammar of answers, if any
    Tools tools_;
    std::string name_;
    ggufx_chat_facts facts_ = {}; // facts of the template
    uint32_t flags_ = 0, n_predict_ = 0, n_vocab_ = 0;
    size_t n_context_ = 0;
    Generator generator_; // declared after all that it uses, so destroyed before it
};

} // namespace ggufx::cli
