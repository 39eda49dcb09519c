// Reasoning fields: efforts, budgets, formats; and template variables.
// SPDX-License-Identifier: MIT
#include "serve/request_common.hpp"

namespace ggufx::cli {

void read_effort(Fields &fields, Fields::TextName name, ChatWanted &out) {
    const auto effort = fields.text(name);
    if (!effort) return;
    out.reasoning_effort = *effort;
    if (*effort == "none") out.thinks = false;
}

void read_budget(Fields &fields, Fields::WholeName name, ChatWanted &out) {
    const auto n = fields.count(name);
    if (!n) return;
    if (out.thinking_budget && *out.thinking_budget != *n)
        fields.refuse(name, "differs from another field of the request");
    out.thinking_budget = *n;
}

// Keeps the values as text, which takes less memory.
static void add_variables(const Json &given, Json &variables) {
    std::vector<Json::Member> members;
    for (size_t i = 0; i < given.size(); i++)
        members.push_back({given.keys()[i], Json::written(given.elements()[i].dump())});
    variables.update(Json::object_of(std::move(members)));
}

void read_thinking(Fields &fields, ChatWanted &out) {
    const auto thinks = fields.truth("enable_thinking");
    if (thinks) out.thinks = thinks;
    if (out.thinks == true && out.reasoning_effort == "none")
        fields.refuse("enable_thinking", "is true, but the effort of reasoning is none");
    // A request field takes precedence over the template variable.
    const Json *const given = fields.take("chat_template_kwargs");
    if (given) add_variables(*given, out.variables);
    const Json *const own = given ? given->find("enable_thinking") : nullptr;
    if (own && own->truth() && !out.thinks) out.thinks = own->truth();
    if (out.thinks && own) out.variables["enable_thinking"] = *out.thinks;
    read_budget(fields, "thinking_budget", out);
    read_budget(fields, "reasoning_budget", out);
    if (out.thinking_budget == 0u && !out.thinks) out.thinks = false;
    out.keeps_reasoning = fields.text("reasoning_format") == "none";
}

} // namespace ggufx::cli
