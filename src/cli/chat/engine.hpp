// Chat engine: session with a prefix cache, sampler and chat template.
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
    double prompt_seconds = 0, seconds = 0;
    bool interrupted = false;            // by Ctrl-C
    Finish finish = Finish::none;        // none if interrupted
    size_t n_dropped = 0;                // turns dropped to fit the context
    ggufx_speculator_facts drafter = {}; // totals over all answers, with speculative decoding
};

// Kinds are GGUFX_CHAT_*.
using Shown = std::function<void(uint32_t kind, std::string_view text)>;

class Engine {
public:
    Engine(const Globals &globals, const ChatOptions &options);

    // Answers the last turn, or continues it if it is an answer; the returned turn then has both
    // parts. If the context is too small, the oldest turns are removed from `conversation`. Throws
    // Failure (usage) if the last turn alone does not fit. Ctrl-C ends the answer, not the call.
    Answered answer(Conversation &conversation, const Shown &show);

    size_t n_context() const { return n_context_; }
    size_t n_cached() const { return cached_.size(); }
    const std::string &name() const { return name_; } // name of the model
    uint64_t seed() const { return sampling_.seed; }
    // Restarts the sampler from a seed at the next answer; without a value the seed is random.
    void set_seed(std::optional<uint64_t> seed);
    const Tools &tools() const { return tools_; }

private:
    struct Prompt {
        std::vector<int32_t> ids;
        std::string text;  // rendered text for the output parser
        std::string begun; // markers to feed to the parser first
    };
    void restart_sampler();
    void make_template(const ChatOptions &options);
    void set_grammar(const ChatOptions &options);
    ggufx_chat_request request_of(const std::string &messages, bool continues) const;
    std::string render(const ggufx_chat_request &request) const;
    Prompt prompt_of(const Conversation &conversation) const;
    void start_output(Prompt &prompt, const Conversation &conversation) const;
    Prompt fitting_prompt(Conversation &conversation, Answered &out) const;
    size_t feed(const std::vector<int32_t> &ids); // returns the tokens reused from the cache
    bool decode(const int32_t *ids, size_t n);    // false: interrupted
    void taken(const int32_t *ids, size_t n);
    int32_t next(ggufx_matcher *matcher); // NULL: any token
    // Speculative decoding; false: interrupted.
    bool guess(ggufx_matcher *matcher, size_t n_tokens, int32_t *id);
    void take_stock();
    bool is_full() const;
    std::string piece(int32_t id, ggufx_detokenize_state &state, bool last) const;

    const Globals &globals_;
    Runtime rt_;
    File file_;
    Model model_;
    Session session_;
    std::optional<Drafter> drafter_; // declared after the session, so destroyed before it
    SamplingOptions sampling_;
    Sampler sampler_; // none: the next answer creates it
    Tokenizer tokenizer_;
    ChatTemplate chat_;
    Grammar grammar_; // grammar of answers, if any
    Tools tools_;
    std::string name_;
    ggufx_chat_facts facts_ = {}; // facts of the template
    OutputTokens output_tokens_;
    uint32_t flags_ = 0, n_predict_ = 0;
    size_t n_context_ = 0;
    std::vector<int32_t> cached_; // tokens in the session
    std::optional<int32_t> told_; // token accepted by the sampler, but not in the session yet
    std::vector<float> logits_;
};

} // namespace ggufx::cli
