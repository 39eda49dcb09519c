// An answer that a request constrains: JSON by a schema, or a call of a function. Reasoning comes first,
// free; then a grammar applies, and markers of the template that have no choice.
// SPDX-License-Identifier: MIT
#pragma once

#include "serve/call_plan.hpp"

namespace ggufx::cli {

struct AnswerPlan {
    std::vector<int32_t> prompt; // after the rendered prompt, computed as part of it
    std::string begun;           // text of these tokens that the parser of the output has to know
    bool reasons = false;        // free reasoning comes first
    std::optional<int32_t> reasoning_open; // the token with which the model may begin reasoning
    std::vector<int32_t> opening;          // before JSON or a call's name, after reasoning
    Grammar json;                          // nullptr: no JSON is asked for
    std::optional<int32_t> call_open;      // the token that begins a call in place of JSON
    std::shared_ptr<const CallPlan> call;
    bool is_free() const { return !json && !call; }
};

// `prompt` as it was rendered. Throws ApiError where a schema says more than grammars know.
AnswerPlan plan_answer(const ModelHost &host, const ChatWanted &wanted, const Prompt &prompt);

} // namespace ggufx::cli
