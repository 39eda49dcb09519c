// Plan of a constrained answer: JSON that matches a schema, or a tool call. Reasoning comes first
// and is unconstrained; then a grammar and the forced markers of the chat template apply.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/call_plan.hpp"

namespace ggufx::cli {

struct AnswerPlan {
    std::vector<int32_t> prompt;           // tokens after the rendered prompt, prefilled with it
    std::string begun;                     // text of these tokens, fed to the output parser
    bool reasons = false;                  // unconstrained reasoning comes first
    std::optional<int32_t> reasoning_open; // token with which the model may open reasoning
    // Forced tokens before the JSON or the call's name, after reasoning.
    std::vector<int32_t> opening;
    SharedGrammar json;               // nullptr: no JSON was requested
    std::optional<int32_t> call_open; // token that opens a tool call in place of JSON
    std::shared_ptr<const CallPlan> call;
    bool is_free() const { return !json && !call; }
};

// `prompt` is the rendered conversation, `asker` the key or address. Throws ApiError if a schema uses
// keywords that grammars do not support, or if the schemas take too much work or memory.
AnswerPlan plan_answer(const ModelHost &host, const ChatWanted &wanted, const Prompt &prompt,
                       uint64_t asker);

} // namespace ggufx::cli
