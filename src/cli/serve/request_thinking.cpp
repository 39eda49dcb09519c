// Reasoning fields: efforts, budgets, formats; and template variables.
// SPDX-License-Identifier: MIT
#include "serve/request_common.hpp"

#include <algorithm>
#include <limits>

namespace ggufx::cli {

void read_effort(Fields &fields, const char *name, ChatWanted &out) {
    static constexpr const char *words[] = {"none", "minimal", "low", "medium", "high", "xhigh"};
    const auto effort = fields.text(name);
    if (!effort) return;
    if (std::find(std::begin(words), std::end(words), *effort) == std::end(words))
        fields.refuse(name, "is not one of none, minimal, low, medium, high and xhigh");
    out.reasoning_effort = *effort;
    if (*effort == "none") out.thinks = false;
}

void read_budget(Fields &fields, const char *name, ChatWanted &out) {
    constexpr uint64_t most = std::numeric_limits<int32_t>::max();
    const Json *const value = fields.take(name);
    if (!value || value->number() == -1.0) return; // no limit
    const auto n = value->whole();
    if (!n || *n > most) fields.refuse(name, "is not a whole number from -1 to 2147483647");
    if (out.thinking_budget && *out.thinking_budget != *n)
        fields.refuse(name, "differs from another field of the request");
    out.thinking_budget = static_cast<uint32_t>(*n);
}

namespace {

// A request field takes precedence over the template variable.
void read_variables(Fields &fields, ChatWanted &out) {
    const Json *const given = fields.take("chat_template_kwargs");
    if (!given) return;
    if (!given->is_object()) fields.refuse("chat_template_kwargs", "is not an object");
    for (const std::string &name : given->keys())
        if (name == "messages" || name == "tools")
            fields.refuse("chat_template_kwargs",
                          "has \"" + name + "\", which is a field of the request");
    out.variables.update(*given);
}

void read_format(Fields &fields, ChatWanted &out) {
    const auto format = fields.text("reasoning_format");
    if (format && *format != "none" && *format != "auto" && *format != "deepseek")
        fields.refuse("reasoning_format", "is not one of none, auto and deepseek");
    out.keeps_reasoning = format == "none";
}

} // namespace

void read_thinking(Fields &fields, ChatWanted &out) {
    const auto thinks = fields.truth("enable_thinking");
    if (thinks) out.thinks = thinks;
    if (out.thinks == true && out.reasoning_effort == "none")
        fields.refuse("enable_thinking", "is true, but the effort of reasoning is none");
    read_variables(fields, out);
    const Json *const own = out.variables.find("enable_thinking");
    if (own && own->truth() && !out.thinks) out.thinks = own->truth();
    if (out.thinks && own) out.variables["enable_thinking"] = *out.thinks;
    read_budget(fields, "thinking_budget", out);
    read_budget(fields, "reasoning_budget", out);
    if (out.thinking_budget == 0u && !out.thinks) out.thinks = false;
    read_format(fields, out);
}

} // namespace ggufx::cli
