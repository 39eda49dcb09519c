// Known formats of reasoning and tool calls, looked up by markers in the template: see
// output_format.hpp. Used if rendering a call does not show the format.
// SPDX-License-Identifier: MIT
#include "chat/json.hpp"
#include "chat/output_format.hpp"

#include <string.h>

namespace ggufx::chat {

namespace {

bool has(std::string_view source, std::string_view needle) {
    return source.find(needle) != source.npos;
}

struct KnownCalls {
    std::string_view needles[2]; // the template contains all of them
    CallFormat format;
};

constexpr CallFormat object_format(const char *name, std::string_view open,
                                   std::string_view close) {
    CallFormat out;
    out.name = name;
    out.shape = CallShape::object;
    out.open = open;
    out.close = close;
    out.name_key = "name";
    out.arguments_key = "arguments";
    return out;
}

constexpr CallFormat listed_format(const char *name, std::string_view open,
                                   std::string_view close) {
    CallFormat out = object_format(name, open, close);
    out.section_open = open;
    out.section_close = close;
    out.open = out.close = "";
    out.listed = true;
    return out;
}

constexpr CallFormat action_format() {
    CallFormat out = listed_format("command-r", "Action:", "```");
    out.name_key = "tool_name";
    out.arguments_key = "parameters";
    out.answer_name = "directly-answer";
    out.prefix = "Action: ```json\n[\n    {\n        \"tool_name\": \"";
    out.middle = "\",\n        \"parameters\": ";
    out.end = "\n    }\n]```";
    return out;
}

constexpr CallFormat kimi_format() {
    CallFormat out;
    out.name = "kimi";
    out.shape = CallShape::named;
    out.numbered = true;
    out.section_open = "<|tool_calls_section_begin|>";
    out.section_close = "<|tool_calls_section_end|>";
    out.open = "<|tool_call_begin|>";
    out.before_name = "functions.";
    out.after_name = "<|tool_call_argument_begin|>";
    out.close = "<|tool_call_end|>";
    return out;
}

constexpr CallFormat deepseek_format(bool fenced) {
    CallFormat out;
    out.name = fenced ? "deepseek-r1" : "deepseek-v3.1";
    out.shape = CallShape::named;
    out.section_open = "<｜tool▁calls▁begin｜>";
    out.section_close = "<｜tool▁calls▁end｜>";
    out.open = "<｜tool▁call▁begin｜>";
    out.before_name = fenced ? "function<｜tool▁sep｜>" : "";
    out.after_name = fenced ? "\n```json\n" : "<｜tool▁sep｜>";
    out.close = fenced ? "\n```<｜tool▁call▁end｜>" : "<｜tool▁call▁end｜>";
    return out;
}

constexpr CallFormat python_format() {
    CallFormat out;
    out.name = "python";
    out.shape = CallShape::named;
    out.notation = Notation::python;
    out.listed = true;
    out.section_open = "<|tool_call_start|>";
    out.section_close = "<|tool_call_end|>";
    return out;
}

constexpr CallFormat mistral_format() {
    CallFormat out;
    out.name = "mistral";
    out.shape = CallShape::named;
    out.open = "[TOOL_CALLS]";
    out.before_id = "[CALL_ID]";
    out.has_id = true;
    out.after_name = "[ARGS]";
    return out;
}

constexpr CallFormat glm_format() {
    CallFormat out;
    out.name = "glm";
    out.shape = CallShape::tagged;
    out.open = "<tool_call>";
    out.after_name = "\n";
    out.before_key = "<arg_key>";
    out.after_key = "</arg_key>\n<arg_value>";
    out.after_value = "</arg_value>\n";
    out.close = "</tool_call>";
    return out;
}

constexpr CallFormat function_format() {
    CallFormat out;
    out.name = "function-tags";
    out.shape = CallShape::tagged;
    out.open = "<tool_call>\n";
    out.before_name = "<function=";
    out.after_name = ">\n";
    out.before_key = "<parameter=";
    out.after_key = ">\n";
    out.after_value = "\n</parameter>\n";
    out.close = "</function>\n</tool_call>";
    return out;
}

constexpr CallFormat gemma_format() {
    CallFormat out;
    out.name = "gemma";
    out.shape = CallShape::named;
    out.notation = Notation::quoted;
    out.open = "<|tool_call>";
    out.before_name = "call:";
    out.quote = "<|\"|>";
    out.close = "<tool_call|>";
    return out;
}

constexpr CallFormat llama_format() {
    CallFormat out = object_format("llama-3", "", "");
    out.bare = true;
    out.other_open = "<|python_tag|>";
    out.arguments_key = "parameters";
    return out;
}

constexpr KnownCalls kCalls[] = {
    {{"<|tool_call_begin|>", "<|tool_call_argument_begin|>"}, kimi_format()},
    {{"<｜tool▁call▁begin｜>", "```json"}, deepseek_format(true)},
    {{"<｜tool▁call▁begin｜>", ""}, deepseek_format(false)},
    {{"<|tool_call_start|>", ""}, python_format()},
    {{"<|tool_list_start|>", ""}, python_format()},
    {{"\"List of tools: [\"", ""}, python_format()},
    {{"<|tool_call>", "call:"}, gemma_format()},
    {{"<arg_key>", "<arg_value>"}, glm_format()},
    {{"<function=", "<parameter="}, function_format()},
    {{"[TOOL_CALLS]", "[ARGS]"}, mistral_format()},
    {{"[TOOL_CALLS]", ""}, listed_format("mistral-list", "[TOOL_CALLS]", "")},
    {{"<|tool_call|>", ""}, listed_format("granite-3", "<|tool_call|>", "")},
    {{"<TOOLCALL>", ""}, listed_format("nemotron", "<TOOLCALL>", "</TOOLCALL>")},
    {{"<tool_calls>", ""}, listed_format("tool-calls", "<tool_calls>", "</tool_calls>")},
    {{"functools[", ""}, listed_format("functools", "functools", "")},
    {{"Action:", "```json"}, action_format()},
    {{"<tool_call>", ""}, object_format("hermes", "<tool_call>\n", "\n</tool_call>")},
    {{"<function_call>", ""}, object_format("function-call", "<function_call>", "")},
    {{"<|python_tag|>", ""}, llama_format()},
    {{"<|start_header_id|>", "ipython"}, llama_format()},
};

struct KnownReasoning {
    std::string_view needle; // in the template
    ReasoningFormat format;
};

constexpr KnownReasoning kReasonings[] = {
    {"<think>", {"<think>", "</think>"}},
    {"</think>", {"<think>", "</think>"}},
    {"[BEGIN FINAL RESPONSE]", {"Here are my reasoning steps:", "[BEGIN FINAL RESPONSE]"}},
    {"<thinking>", {"<thinking>", "</thinking>"}},
    {"[THINK]", {"[THINK]", "[/THINK]"}},
    {"<|channel>", {"<|channel>thought", "<channel|>"}},
    {"<|START_THINKING|>", {"<|START_THINKING|>", "<|END_THINKING|>"}},
    {"<seed:think>", {"<seed:think>", "</seed:think>"}},
    {"seed:tool_call", {"<seed:think>", "</seed:think>"}},
    {"<|inner_prefix|>", {"<|inner_prefix|>", "<|inner_suffix|>"}},
    {"<|think|><|end|>", {"<|think|>", "<|end|>"}},
};

struct KnownDropped {
    std::string_view needle, marker;
};

// Markers around an answer that are not part of its text.
constexpr KnownDropped kDropped[] = {
    {"<|START_RESPONSE|>", "<|START_RESPONSE|>"},
    {"<|END_RESPONSE|>", "<|END_RESPONSE|>"},
    {"[BEGIN FINAL RESPONSE]", "[BEGIN FINAL RESPONSE]"},
    {"[BEGIN FINAL RESPONSE]", "[END FINAL RESPONSE]"},
    {"<response></response>", "<response>"},
    {"<response></response>", "</response>"},
    {"<|tool_response>", "<|tool_response>"},
    {"<|message_sep|>", "assistant<|role_sep|>"},
    {"<|think|><|end|>", "<|begin|>assistant"},
    {"<|think|><|end|>", "<|content|>"},
    {"<|think|><|end|>", "<|end|>"},
};

} // namespace

const CallFormat *known_call_format(std::string_view source, size_t &at) {
    while (at < sizeof kCalls / sizeof *kCalls) {
        const KnownCalls &row = kCalls[at++];
        if (has(source, row.needles[0]) && has(source, row.needles[1])) return &row.format;
    }
    return nullptr;
}

void find_known_markers(OutputFormat &out, std::string_view source) {
    for (const KnownReasoning &row : kReasonings)
        if (has(source, row.needle)) out.add_reasoning(row.format.open, row.format.close);
    for (const KnownDropped &row : kDropped)
        if (has(source, row.needle)) out.add_dropped(row.marker);
    out.harmony = has(source, "<|channel|>") && has(source, "<|message|>");
}

std::string_view OutputFormat::join(std::initializer_list<std::string_view> pieces) {
    size_t size = 0, at = 0;
    for (const std::string_view piece : pieces) size += piece.size();
    uint8_t *const out = arena_.add(size + 1);
    for (const std::string_view piece : pieces) {
        if (!piece.empty()) memcpy(out + at, piece.data(), piece.size());
        at += piece.size();
    }
    out[size] = 0;
    return {reinterpret_cast<const char *>(out), size};
}

std::string_view OutputFormat::keep(std::string_view text) {
    return join({text});
}

void OutputFormat::add_reasoning(std::string_view open, std::string_view close) {
    open = trimmed(open);
    close = trimmed(close);
    for (size_t i = 0; i < n_reasoning; i++)
        if (reasoning[i].open == open) return;
    if (n_reasoning < kMostReasonings) reasoning[n_reasoning++] = {keep(open), keep(close)};
}

void OutputFormat::add_dropped(std::string_view marker) {
    for (size_t i = 0; i < n_dropped; i++)
        if (dropped[i] == marker) return;
    if (n_dropped < kMostDropped) dropped[n_dropped++] = keep(marker);
}

void OutputFormat::keep_call(const CallFormat &format) {
    call = format;
    for (std::string_view *const text : {&call.section_open,
                                         &call.section_close,
                                         &call.open,
                                         &call.close,
                                         &call.other_open,
                                         &call.before_name,
                                         &call.after_name,
                                         &call.before_id,
                                         &call.name_key,
                                         &call.arguments_key,
                                         &call.id_key,
                                         &call.before_key,
                                         &call.after_key,
                                         &call.after_value,
                                         &call.after_key_other,
                                         &call.quote,
                                         &call.answer_name,
                                         &call.prefix,
                                         &call.middle,
                                         &call.end})
        *text = keep(*text);
    if (!call.prefix.empty() || call.shape == CallShape::none) return;
    const std::string_view list = call.listed ? "[" : "", end = call.listed ? "]" : "";
    if (call.shape == CallShape::object) {
        call.prefix = join({call.section_open, list, call.open, "{\"", call.name_key, "\": \""});
        call.middle = join({"\", \"", call.arguments_key, "\": "});
        call.end = join({"}", call.close, end, call.section_close});
        return;
    }
    call.prefix = join({call.section_open, list, call.open, call.before_name});
    call.middle = call.after_name;
    call.end = join({call.close, end, call.section_close});
}

void add_markers(Vector<std::string_view> &out, const OutputFormat &format) {
    static constexpr std::string_view harmony[] = {"<|start|>",     "<|channel|>", "<|message|>",
                                                   "<|constrain|>", "<|end|>",     "<|call|>",
                                                   "<|return|>"};
    const auto add = [&](std::string_view marker) {
        marker = trimmed(marker);
        if (marker.size() > 1) out.push_back(marker);
    };
    const CallFormat &call = format.call;
    for (const std::string_view marker :
         {call.section_open, call.section_close, call.open, call.close, call.other_open,
          call.before_name, call.after_name, call.before_id, call.before_key, call.after_key,
          call.after_key_other, call.after_value, call.quote})
        add(marker);
    for (size_t i = 0; i < format.n_reasoning; i++) {
        add(format.reasoning[i].open);
        add(format.reasoning[i].close);
    }
    for (size_t i = 0; i < format.n_dropped; i++) add(format.dropped[i]);
    if (format.harmony)
        for (const std::string_view marker : harmony) add(marker);
}

} // namespace ggufx::chat
