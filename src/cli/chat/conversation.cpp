// Strict reader of conversations: refuses files that are not a list of turns, with their name.
// SPDX-License-Identifier: MIT
#include "chat/conversation.hpp"

#include "common/api.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

bool is_user(const Turn &turn) {
    return turn.role == "user";
}

std::string text_of(const Json &message, const char *key) {
    const Json *const value = message.find(key);
    return value && value->text() ? *value->text() : std::string();
}

Json parsed_or_text(const std::string &arguments) {
    try {
        return parse_json(arguments, "arguments");
    } catch (const Failure &) {
        return arguments; // invalid JSON from the model stays unchanged
    }
}

Json call_json(const ToolCall &call) {
    Json function = Json::object(), out = Json::object();
    function["name"] = call.name;
    function["arguments"] = parsed_or_text(call.arguments);
    if (!call.id.empty()) out["id"] = call.id;
    out["type"] = "function";
    out["function"] = function;
    return out;
}

ToolCall call_from(const Json &call) {
    ToolCall out;
    const Json *const function = call.find("function");
    out.id = text_of(call, "id");
    if (!function) return out;
    out.name = text_of(*function, "name");
    const Json *const arguments = function->find("arguments");
    if (arguments) out.arguments = arguments->text() ? *arguments->text() : arguments->dump();
    return out;
}

} // namespace

void Turn::add(const ggufx_event &event, size_t &n_calls) {
    const std::string text(view(event.text));
    if (event.kind == GGUFX_EVENT_TEXT) content += text;
    if (event.kind == GGUFX_EVENT_REASONING) reasoning += text;
    // Nine letters and digits, as Mistral's templates require.
    if (event.kind == GGUFX_EVENT_TOOL_CALL)
        calls.push_back({fmt::format("call{:05}", ++n_calls), text, ""});
    if (calls.empty()) return;
    if (event.kind == GGUFX_EVENT_TOOL_ID) calls.back().id = text;
    if (event.kind == GGUFX_EVENT_TOOL_ARGUMENTS) calls.back().arguments += text;
}

void Conversation::set_system(const std::string &text) {
    if (!turns.empty() && turns[0].role == "system") turns.erase(turns.begin());
    if (!text.empty()) turns.insert(turns.begin(), Turn{"system", text, {}, {}, {}, {}});
}

bool Conversation::drop_oldest() {
    const auto first = std::find_if(turns.begin(), turns.end(), is_user);
    if (first == turns.end()) return false;
    const auto next = std::find_if(first + 1, turns.end(), is_user);
    if (next == turns.end()) return false;
    turns.erase(first, next);
    return true;
}

bool Conversation::undo(std::string &text) {
    const auto last = std::find_if(turns.rbegin(), turns.rend(), is_user);
    if (last == turns.rend()) return false;
    text = last->content;
    turns.erase(last.base() - 1, turns.end());
    return true;
}

const ToolCall *Conversation::waiting_call() const {
    size_t n_results = 0;
    for (auto turn = turns.rbegin(); turn != turns.rend(); ++turn) {
        if (turn->role == "tool") {
            n_results++;
            continue;
        }
        return n_results < turn->calls.size() ? &turn->calls[n_results] : nullptr;
    }
    return nullptr;
}

void Conversation::add_result(const std::string &text) {
    const ToolCall call = *waiting_call();
    turns.push_back({"tool", text, {}, {}, call.id, call.name});
}

bool Conversation::ends_with_answer() const {
    return !turns.empty() && turns.back().role == "assistant" && turns.back().calls.empty();
}

void Conversation::name_results() {
    std::vector<ToolCall> calls;
    size_t next = 0;
    for (Turn &turn : turns) {
        if (turn.role != "tool") {
            calls = turn.calls;
            next = 0;
        } else if (next < calls.size()) {
            const auto named = std::find_if(calls.begin(), calls.end(), [&](const ToolCall &call) {
                return !call.id.empty() && call.id == turn.call_id;
            });
            const ToolCall &call = named != calls.end() ? *named : calls[next];
            if (turn.call_id.empty()) turn.call_id = call.id;
            if (turn.name.empty()) turn.name = call.name;
            next++;
        }
    }
}

Json Conversation::to_prompt() const {
    const Json all = to_json();
    Json out = Json::array();
    for (Json message : all.elements()) {
        const std::string *const content = message.find("content")->text();
        if (message.find("tool_calls") && content->empty()) message["content"] = Json();
        out.push_back(std::move(message));
    }
    return out;
}

Json Conversation::to_json() const {
    Json out = Json::array();
    for (const Turn &turn : turns) {
        Json message = Json::object();
        message["role"] = turn.role;
        message["content"] = turn.content;
        if (!turn.reasoning.empty()) message["reasoning_content"] = turn.reasoning;
        if (!turn.calls.empty()) {
            Json calls = Json::array();
            for (const ToolCall &call : turn.calls) calls.push_back(call_json(call));
            message["tool_calls"] = calls;
        }
        if (!turn.call_id.empty()) message["tool_call_id"] = turn.call_id;
        if (!turn.name.empty()) message["name"] = turn.name;
        out.push_back(message);
    }
    return out;
}

Conversation Conversation::from_json(const Json &file, const std::string &what) {
    const Json *messages = file.is_array() ? &file : file.find("messages");
    if (!messages || !messages->is_array())
        throw Failure(kInvalidFile, what + ": \"messages\" is not a list");
    Conversation out;
    for (const Json &message : messages->elements()) {
        Turn turn;
        if (message.is_object()) turn.role = text_of(message, "role");
        if (turn.role.empty()) throw Failure(kInvalidFile, what + ": a message without a role");
        turn.content = text_of(message, "content");
        turn.reasoning = text_of(message, "reasoning_content");
        const Json *const calls = message.find("tool_calls");
        if (calls && calls->is_array())
            for (const Json &call : calls->elements()) turn.calls.push_back(call_from(call));
        turn.call_id = text_of(message, "tool_call_id");
        turn.name = text_of(message, "name");
        out.turns.push_back(std::move(turn));
    }
    out.name_results();
    return out;
}

void save_conversation(const Conversation &conversation, const std::string &path, bool force) {
    Output out(path, force);
    if (path.ends_with(".md")) {
        out.write(conversation.to_markdown());
    } else {
        Json file = json_object();
        file["messages"] = conversation.to_json();
        out.write(json_text(file, 2) + "\n");
    }
    out.finish();
}

Conversation load_conversation(const std::string &path) {
    const std::string what = in_quotes(path), text = read_utf8(path);
    return path.ends_with(".md") ? Conversation::from_markdown(text, what)
                                 : Conversation::from_json(parse_json(text, what), what);
}

} // namespace ggufx::cli
