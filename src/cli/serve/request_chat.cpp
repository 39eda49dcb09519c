// Chat requests: messages, tools and response formats, converted for templates and grammars.
// SPDX-License-Identifier: MIT
#include "models/white_space.hpp"
#include "serve/history.hpp"
#include "serve/request_common.hpp"

namespace ggufx::cli {

namespace {

Json read_calls(const Fields &message, const Json &calls) {
    Json out = Json::array();
    for (size_t i = 0; i < calls.size(); i++) {
        Fields call = message.entry("tool_calls", calls.elements()[i], i);
        Fields function = *call.object("function");
        Json one = Json{{"type", "function"},
                        {"function", Json{{"name", *function.text("name")},
                                          {"arguments", call_arguments(function)}}}};
        if (const auto id = call.text("id")) one["id"] = *id;
        function.finish();
        call.finish();
        out.push_back(one);
    }
    return out;
}

Json read_message(Fields fields) {
    const std::string role = *fields.text("role");
    Json out = Json{{"role", role == "developer" ? "system" : role}};
    const Json *const content = fields.take("content");
    const Json *const calls = fields.take("tool_calls");
    if (!content && role != "assistant") fields.refuse("content", "is missing");
    const bool is_empty = !content || (content->is_array() && content->size() == 0);
    out["content"] = is_empty ? Json("") : read_content(fields, "content", *content);
    const Json tool_calls = calls ? read_calls(fields, *calls) : Json::array();
    if (tool_calls.size() > 0) out["tool_calls"] = tool_calls;
    // A message with calls only: the library knows how the template represents missing content.
    const std::string *const text = out.find("content")->text();
    if (tool_calls.size() > 0 && text && text->empty()) out["content"] = Json();
    static constexpr Fields::TextName names[] = {"name", "tool_call_id", "reasoning_content"};
    for (const Fields::TextName name : names)
        if (const auto value = fields.text(name)) out[name.name] = *value;
    if (const auto reasoning = fields.text("reasoning");
        reasoning && !out.find("reasoning_content"))
        out["reasoning_content"] = *reasoning; // name of the field in other servers
    fields.finish();
    return out;
}

void read_messages(Fields &fields, ChatWanted &out) {
    const Json &list = *fields.take("messages");
    std::vector<Json> messages;
    for (size_t i = 0; i < list.size(); i++)
        messages.push_back(read_message(fields.entry("messages", list.elements()[i], i)));
    const Json &last = messages.back();
    out.continues = *last.find("role")->text() == "assistant" && !last.find("tool_calls");
    out.messages = link_results(std::move(messages)).dump();
}

// Continues a last message of the assistant, unless the request says otherwise or asks for a
// response format that needs a new message.
void read_turn(Fields &fields, ChatWanted &out) {
    const auto opens = fields.truth("add_generation_prompt");
    const auto continues = fields.truth("continue_final_message");
    const bool is_free = out.form == AnswerForm::text && out.forced.empty();
    if (continues == true && opens == true)
        fields.refuse("add_generation_prompt", "is true together with continue_final_message");
    if (continues == true && !out.continues)
        fields.refuse(
            "continue_final_message",
            "is true, but the last message is not one of the assistant without tool calls");
    if (continues == true && !is_free)
        fields.refuse("continue_final_message",
                      "is not supported together with response_format and a forced tool call");
    out.continues = out.continues && is_free && opens != true && continues.value_or(true);
    out.opens_turn = !out.continues && opens.value_or(true);
}

void read_limits(Fields &fields, ChatWanted &out) {
    const auto old = fields.count("max_tokens"), n = fields.count("max_completion_tokens");
    if (old && n && *old != *n) fields.refuse("max_tokens", "differs from max_completion_tokens");
    out.max_tokens = n ? n : old;
    out.logprobs = *fields.truth("logprobs");
    if (const auto top = fields.count("top_logprobs")) {
        if (!out.logprobs) fields.refuse("top_logprobs", "needs logprobs");
        out.n_top = *top;
    }
}

void read_reasoning(Fields &fields, ChatWanted &out) {
    auto reasoning = fields.object("reasoning");
    if (!reasoning) return;
    const std::string effort = out.reasoning_effort;
    read_effort(*reasoning, "effort", out);
    if (!effort.empty() && effort != out.reasoning_effort)
        reasoning->refuse("effort", "differs from reasoning_effort");
    read_budget(*reasoning, "max_tokens", out);
    if (const auto enabled = reasoning->truth("enabled")) out.thinks = enabled;
    reasoning->finish();
}

} // namespace

Json read_content(const Fields &fields, Fields::Name name, const Json &content) {
    if (content.text()) return content;
    Json parts = Json::array();
    for (size_t i = 0; i < content.size(); i++) {
        Fields part = fields.entry(name, content.elements()[i], i);
        parts.push_back(Json{{"type", "text"}, {"text", *part.text("text")}});
        part.finish();
    }
    return parts;
}

std::string read_verbosity(Fields &fields, ChatWanted &out) {
    const auto given = fields.text("verbosity");
    if (given) out.variables["verbosity"] = *given;
    return given.value_or("medium");
}

void read_white_space(Fields &fields, Wanted &out) {
    if (const auto name = fields.text("json_whitespace"))
        out.sampling.grammar_flags = white_space_flags(*name).value();
}

void read_form(Fields format, ChatWanted &out, Nesting nesting) {
    const std::string type = *format.text("type");
    if (type == "json_object") {
        out.form = AnswerForm::object;
        out.schema = "{\"type\":\"object\"}";
    } else if (type == "json_schema") {
        auto nested = nesting == Nesting::nested ? format.object("json_schema") : std::nullopt;
        Fields &named = nested ? *nested : format;
        out.form = AnswerForm::schema;
        out.schema = named.take("schema")->dump();
        named.finish();
    }
    format.finish();
}

ChatWanted read_chat(const Json &body, const SamplingDefaults &defaults, bool lenient) {
    Fields fields(body, group::chat, lenient);
    ChatWanted out;
    read_common(fields, out, defaults);
    read_messages(fields, out);
    read_tools(fields, out, Nesting::nested);
    if (const auto format = fields.object("response_format"))
        read_form(*format, out, Nesting::nested);
    if (out.form != AnswerForm::text && !out.forced.empty())
        fields.refuse("response_format", "is not supported together with a forced tool call");
    read_limits(fields, out);
    read_effort(fields, "reasoning_effort", out);
    read_reasoning(fields, out);
    read_thinking(fields, out);
    read_turn(fields, out);
    read_verbosity(fields, out);
    read_white_space(fields, out);
    fields.finish();
    return out;
}

ChatWanted read_template(const Json &body, bool lenient) {
    Fields fields(body, group::apply_template, lenient);
    ChatWanted out;
    read_messages(fields, out);
    read_tools(fields, out, Nesting::nested);
    read_effort(fields, "reasoning_effort", out);
    read_thinking(fields, out);
    read_turn(fields, out);
    fields.finish();
    return out;
}

} // namespace ggufx::cli
