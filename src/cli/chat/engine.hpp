// Chat engine: session with a prefix cache, sampler and chat template.
// SPDX-License-Identifier: MIT
#pragma once

#include "chat/conversation.hpp"
#include "chat/tools.hpp"
#include "models/chat_template.hpp"
#include "models/generating_model.hpp"

#include <functional>

namespace ggufx::cli {

struct ChatOptions : GenerateOptions {
    ChatOptions() { n_predict = 0; } // up to the end of the context
    std::string model;               // empty: the embedded model
    std::string template_name, system, tools, load, save;
    std::string prefill; // forced start of each answer
    bool no_think = false, continues = false;
};

// Result of a turn.
struct Answered {
    Turn turn;
    ggufx_generator_facts facts = {};
    double prompt_seconds = 0, seconds = 0; // up to the first event, and after it
    size_t n_dropped = 0;                   // turns dropped to fit the context

    bool interrupted() const { return facts.end == GGUFX_END_CANCELLED; } // by Ctrl-C
};

using Shown = std::function<void(ggufx_event_kind kind, std::string_view text)>;

class Engine {
public:
    Engine(const Globals &globals, const ChatOptions &options);

    // Answers the last turn, or continues it if it is an answer; the returned turn then has both
    // parts. If the context is too small, the oldest turns are removed from `conversation`. Throws
    // Failure (usage) if the last turn alone does not fit. Ctrl-C ends the answer, not the call.
    Answered answer(Conversation &conversation, const Shown &show);

    const GeneratingModel &generation() const { return *generation_; }
    const std::string &name() const { return name_; } // name of the model
    // Random numbers start again with this seed; without a value it is random.
    void set_seed(std::optional<uint64_t> seed);
    const Tools &tools() const { return tools_; }

private:
    ggufx_status set_prompt(const Conversation &conversation, ggufx_error *error) const;
    size_t fit(Conversation &conversation) const;

    const Globals &globals_;
    const bool answers_at_once_; // no reasoning
    Runtime rt_;
    File file_;
    ChatTemplate chat_;
    Tools tools_;
    std::string name_;
    std::optional<GeneratingModel> generation_;
};

} // namespace ggufx::cli
