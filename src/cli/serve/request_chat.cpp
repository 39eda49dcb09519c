// Chat requests: messages, tools and response formats, converted for templates and grammars.
// SPDX-License-Identifier: MIT
#include "models/white_space.hpp"
#include "serve/history.hpp"
#include "serve/request_common.hpp"

#include <algorithm>
#include <limits>

namespace ggufx::cli {

namespace {

Json content_of(Fields &message, const Json &content) {
    if (content.text()) return content;
    if (!content.is_array()) message.refuse("content", "is neither a string nor a list of parts");
    Json parts = Json::array();
    for (size_t i = 0; i < content.size(); i++) {
        Fields part = message.within(content.elements()[i], index_of("content", i));
        const std::string type = part.text("type").value_or("");
        if (type != "text") part.refuse("type", "is not \"text\": only text is supported");
        const auto piece = part.text("text");
        if (!piece) part.refuse("text", "is missing");
        part.finish();
        parts.push_back(Json{{"type", "text"}, {"text", *piece}});
    }
    return parts.size() > 0 ? parts : Json("");
}

Json calls_of(Fields &message, const Json &calls) {
    if (!calls.is_array()) message.refuse("tool_calls", "is not a list");
    Json out = Json::array();
    for (size_t i = 0; i < calls.size(); i++) {
        Fields call = message.within(calls.elements()[i], index_of("tool_calls", i));
        call.no_effect("type", {"function"});
        const auto id = call.text("id");
        call.ignore("index"); // present in calls assembled from a stream
        const Json *const function = call.take("function");
        if (!function) call.refuse("function", "is missing");
        Fields of = call.within(*function, "function");
        const auto name = of.text("name");
        if (!name) of.refuse("name", "is missing");
        const Json arguments = call_arguments(of);
        of.finish();
        call.finish();
        Json one = Json{{"type", "function"},
                        {"function", Json{{"name", *name}, {"arguments", arguments}}}};
        if (id) one["id"] = *id;
        out.push_back(one);
    }
    return out;
}

Json read_message(Fields fields) {
    const std::string role = fields.text("role").value_or("");
    if (role != "system" && role != "developer" && role != "user" && role != "assistant" &&
        role != "tool")
        fields.refuse("role", "is not one of system, developer, user, assistant and tool");
    Json out = Json{{"role", role == "developer" ? "system" : role}};
    const Json *const content = fields.take("content");
    const Json *const calls = fields.take("tool_calls");
    if (!content && !(role == "assistant")) fields.refuse("content", "is missing");
    out["content"] = content ? content_of(fields, *content) : Json("");
    const Json tool_calls = calls ? calls_of(fields, *calls) : Json::array();
    if (tool_calls.size() > 0) out["tool_calls"] = tool_calls;
    // A message with calls only: the library knows how the template represents missing content.
    const std::string *const text = out.find("content")->text();
    if (tool_calls.size() > 0 && text && text->empty()) out["content"] = Json();
    for (const char *name : {"name", "tool_call_id", "reasoning_content"})
        if (const auto value = fields.text(name)) out[name] = *value;
    if (const auto reasoning = fields.text("reasoning");
        reasoning && !out.find("reasoning_content"))
        out["reasoning_content"] = *reasoning; // name of the field in other servers
    for (const char *name : {"refusal", "audio", "function_call"}) fields.no_effect(name, {});
    fields.ignore("annotations"); // present in messages returned by this server
    fields.finish();
    return out;
}

void read_messages(Fields &fields, ChatWanted &out) {
    const Json *const list = fields.take("messages");
    if (!list || !list->is_array() || list->size() == 0)
        fields.refuse("messages", "is not a list of one message or more");
    std::vector<Json> messages;
    for (size_t i = 0; i < list->size(); i++)
        messages.push_back(
            read_message(fields.within(list->elements()[i], index_of("messages", i))));
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

void read_form(Fields &fields, ChatWanted &out) {
    const Json *const form = fields.take("response_format");
    if (!form) return;
    Fields of = fields.within(*form, "response_format");
    const std::string type = of.text("type").value_or("");
    if (type == "json_object") {
        out.form = AnswerForm::object;
        out.schema = "{\"type\":\"object\"}";
    } else if (type == "json_schema") {
        const Json *const named = of.take("json_schema");
        if (!named) of.refuse("json_schema", "is missing");
        Fields schema = of.within(*named, "json_schema");
        schema.text("name");
        schema.text("description");
        schema.truth("strict"); // always strict
        const Json *const rules = schema.take("schema");
        if (!rules) schema.refuse("schema", "is missing");
        schema.finish();
        out.form = AnswerForm::schema;
        out.schema = rules->dump();
    } else if (type != "text") {
        of.refuse("type", "is not one of text, json_object and json_schema");
    }
    of.finish();
    if (out.form != AnswerForm::text && !out.forced.empty())
        fields.refuse("response_format", "is not supported together with a forced tool call");
}

// Documented fields that have no effect at these values.
void pass_over(Fields &fields) {
    fields.no_effect("store", {false});
    fields.no_effect("service_tier", {"auto", "default"});
    fields.no_effect("modalities", {Json(std::vector<std::string>{"text"})});
    for (const char *name : {"metadata", "safety_identifier", "prompt_cache_key"})
        fields.ignore(name);
    for (const char *name : {"audio", "functions", "function_call", "prediction",
                             "prompt_cache_retention", "web_search_options"})
        fields.no_effect(name, {});
}

void read_limits(Fields &fields, ChatWanted &out) {
    constexpr uint64_t most = std::numeric_limits<uint32_t>::max();
    const auto old = fields.whole("max_tokens", 1, most);
    const auto n = fields.whole("max_completion_tokens", 1, most);
    if (old && n && *old != *n) fields.refuse("max_tokens", "differs from max_completion_tokens");
    if (old || n) out.max_tokens = static_cast<uint32_t>(n ? *n : *old);
    out.logprobs = fields.truth("logprobs").value_or(false);
    if (const auto top = fields.whole("top_logprobs", 0, kMostTop)) {
        if (!out.logprobs) fields.refuse("top_logprobs", "needs logprobs");
        out.n_top = static_cast<uint32_t>(*top);
    }
}

} // namespace

std::string read_verbosity(Fields &fields, ChatWanted &out) {
    const auto given = fields.text("verbosity");
    if (!given) return "medium";
    if (*given != "low" && *given != "medium" && *given != "high")
        fields.refuse("verbosity", "is not one of low, medium and high");
    out.variables["verbosity"] = *given;
    return *given;
}

void read_white_space(Fields &fields, Wanted &out) {
    const auto name = fields.text("json_whitespace");
    if (!name) return;
    const auto flags = white_space_flags(*name);
    if (!flags) fields.refuse("json_whitespace", "is not one of limited, none and any");
    out.sampling.grammar_flags = *flags;
}

// Reads the `reasoning` object.
static void read_reasoning(Fields &fields, ChatWanted &out) {
    const Json *const reasoning = fields.take("reasoning");
    if (!reasoning) return;
    Fields of = fields.within(*reasoning, "reasoning");
    const std::string effort = out.reasoning_effort;
    read_effort(of, "effort", out);
    if (!effort.empty() && effort != out.reasoning_effort)
        of.refuse("effort", "differs from reasoning_effort");
    read_budget(of, "max_tokens", out);
    if (const auto enabled = of.truth("enabled")) out.thinks = enabled;
    of.no_effect("exclude", {false});
    of.finish();
}

ChatWanted read_chat(const Json &body, const SamplingDefaults &defaults, bool lenient) {
    Fields fields(body, lenient);
    ChatWanted out;
    read_common(fields, out, defaults);
    read_messages(fields, out);
    read_tools(fields, out, ToolForm::nested);
    read_form(fields, out);
    read_limits(fields, out);
    read_effort(fields, "reasoning_effort", out);
    read_reasoning(fields, out);
    read_thinking(fields, out);
    read_turn(fields, out);
    read_verbosity(fields, out);
    read_white_space(fields, out);
    pass_over(fields);
    fields.finish();
    return out;
}

ChatWanted read_template(const Json &body, bool lenient) {
    Fields fields(body, lenient);
    ChatWanted out;
    read_messages(fields, out);
    read_tools(fields, out, ToolForm::nested);
    read_effort(fields, "reasoning_effort", out);
    read_thinking(fields, out);
    read_turn(fields, out);
    fields.finish();
    return out;
}

} // namespace ggufx::cli
