// Requests of /v1/responses, converted to chat requests.
// SPDX-License-Identifier: MIT
#include "serve/history.hpp"
#include "serve/request_common.hpp"

namespace ggufx::cli {

namespace {

// Keeps a value that responses repeat as text, which takes less memory.
Json written(const Json &value) {
    return Json::written(value.dump());
}

std::string text_of(const Fields &item, Fields::Name name, const Json &content) {
    if (content.text()) return *content.text();
    std::string text;
    const Json parts = read_content(item, name, content);
    for (const Json &part : parts.elements()) text += *part.find("text")->text();
    return text;
}

// Converts input items to chat messages.
class Conversation {
public:
    void add(Fields item) {
        const std::string type = *item.text("type");
        if (type == "message") add_message(item);
        if (type == "function_call") call(item, call_arguments(item));
        // The input of a custom tool is free text: passed as the single argument of a function.
        if (type == "custom_tool_call")
            call(item, Json{{"input", item.text("input").value_or("")}});
        if (type == "function_call_output" || type == "custom_tool_call_output") add_output(item);
        if (type == "reasoning") add_reasoning(item);
        item.finish();
    }
    void say(const std::string &role, const Json &content) {
        messages_.push_back(Json{{"role", role}, {"content", content}});
    }
    Json finish() {
        flush();
        return link_results(std::move(messages_));
    }

private:
    void add_message(Fields &item) {
        const std::string role = *item.text("role");
        const Json &content = *item.take("content");
        if (role != "assistant") {
            flush();
            say(role == "developer" ? "system" : role, read_content(item, "content", content));
            return;
        }
        if (has_text_ || calls_.size() > 0) flush();
        text_ = text_of(item, "content", content);
        has_text_ = true;
    }
    void call(Fields &item, const Json &arguments) {
        calls_.push_back(
            Json{{"id", *item.text("call_id")},
                 {"type", "function"},
                 {"function", Json{{"name", *item.text("name")}, {"arguments", arguments}}}});
    }
    // Passes values other than strings as JSON.
    void add_output(Fields &item) {
        const Json &output = *item.take("output");
        const bool is_content = output.text() || output.is_array();
        const Json content =
            is_content ? read_content(item, "output", output) : Json(output.dump());
        flush();
        messages_.push_back(
            Json{{"role", "tool"}, {"content", content}, {"tool_call_id", *item.text("call_id")}});
    }
    void add_reasoning(Fields &item) {
        const Json *const content = item.take("content"), *const summary = item.take("summary");
        if (has_text_ || calls_.size() > 0) flush();
        const bool is_empty = content && content->is_array() && content->size() == 0;
        if (content && !is_empty)
            reasoning_ += text_of(item, "content", *content);
        else if (summary)
            reasoning_ += text_of(item, "summary", *summary);
    }
    // Merges reasoning, text and calls of one turn into one message.
    void flush() {
        if (!has_text_ && calls_.size() == 0 && reasoning_.empty()) return;
        const bool is_null = text_.empty() && calls_.size() > 0;
        Json message = Json{{"role", "assistant"}, {"content", is_null ? Json() : Json(text_)}};
        if (!reasoning_.empty()) message["reasoning_content"] = reasoning_;
        if (calls_.size() > 0) message["tool_calls"] = calls_;
        messages_.push_back(std::move(message));
        text_ = reasoning_ = "";
        has_text_ = false;
        calls_ = Json::array();
    }

    std::vector<Json> messages_;
    std::string text_, reasoning_;
    Json calls_ = Json::array();
    bool has_text_ = false;
};

void read_input(Fields &fields, ResponsesWanted &out) {
    Conversation all;
    const auto instructions = fields.text("instructions");
    out.asked["instructions"] = instructions ? Json(*instructions) : Json();
    if (instructions) all.say("system", *instructions);
    const Json &input = *fields.take("input");
    if (input.text()) all.say("user", *input.text());
    for (size_t i = 0; input.is_array() && i < input.size(); i++) {
        const Fields item = fields.entry("input", input.elements()[i], i);
        if (item.is_skipped()) // a call of a hosted tool
            out.ignored.push_back("input[" + std::to_string(i) + "]");
        else
            all.add(item);
    }
    out.messages = all.finish().dump();
}

// Functions are flat here, and nested in "function" in chats.
void read_functions(Fields &fields, ResponsesWanted &out) {
    const Json *const tools = fields.take("tools");
    const Json *const choice = fields.take("tool_choice");
    out.asked["tool_choice"] = choice ? written(*choice) : Json("auto");
    out.asked["tools"] = tools ? written(*tools) : Json::array();
    read_tools(fields, out, Nesting::flat);
}

void read_text_form(Fields &fields, ResponsesWanted &out) {
    Json format = Json{{"type", "text"}};
    std::string verbosity = "medium";
    if (auto text = fields.object("text")) {
        verbosity = read_verbosity(*text, out);
        if (const Json *const given = text->take("format")) format = written(*given);
        if (const auto form = text->object("format")) read_form(*form, out, Nesting::flat);
        text->finish();
    }
    if (out.form != AnswerForm::text && !out.forced.empty())
        fields.refuse("text", "has a format, which is not supported together with a forced call");
    out.asked["text"] = Json{{"format", format}, {"verbosity", verbosity}};
}

void read_reasoning(Fields &fields, ResponsesWanted &out) {
    if (auto reasoning = fields.object("reasoning")) {
        read_effort(*reasoning, "effort", out);
        read_budget(*reasoning, "max_tokens", out);
        reasoning->finish();
    }
    const Json effort = out.reasoning_effort.empty() ? Json() : Json(out.reasoning_effort);
    out.asked["reasoning"] = Json{{"effort", effort}, {"summary", Json()}};
}

void read_logprobs(Fields &fields, ResponsesWanted &out) {
    if (const Json *const include = fields.take("include"))
        for (const Json &one : include->elements())
            out.logprobs = out.logprobs || *one.text() == "message.output_text.logprobs";
    out.n_top = fields.count("top_logprobs").value_or(0);
    if (out.n_top > 0 && !out.logprobs)
        fields.refuse("top_logprobs", "needs include message.output_text.logprobs");
    out.asked["top_logprobs"] = out.n_top;
}

// Members that repeat the request, or the only value that the server accepts.
void repeat(Fields &fields, ResponsesWanted &out) {
    const Json *const metadata = fields.take("metadata");
    const auto user = fields.text("user");
    out.asked["metadata"] = metadata ? written(*metadata) : Json::object();
    out.asked["user"] = user ? Json(*user) : Json();
    out.asked["store"] = false;
    out.asked["background"] = false;
    out.asked["truncation"] = "disabled";
    out.asked["service_tier"] = "default";
    out.asked["parallel_tool_calls"] = out.forced.empty() && out.parallel_calls;
    out.asked["previous_response_id"] = Json();
    out.asked["max_output_tokens"] = out.max_tokens ? Json(*out.max_tokens) : Json();
    out.asked["temperature"] = static_cast<double>(out.sampling.temperature);
    out.asked["top_p"] = static_cast<double>(out.sampling.top_p);
}

} // namespace

ResponsesWanted read_responses(const Json &body, const SamplingDefaults &defaults, bool lenient) {
    Fields fields(body, group::responses, lenient);
    ResponsesWanted out;
    out.asked = Json::object();
    out.model = fields.text("model").value_or("");
    read_sampling(fields, out, defaults);
    read_cache_use(fields, out);
    read_input(fields, out);
    read_functions(fields, out);
    read_text_form(fields, out);
    read_reasoning(fields, out);
    read_thinking(fields, out);
    read_white_space(fields, out);
    read_logprobs(fields, out);
    out.stream = *fields.truth("stream");
    fields.take("stream_options"); // its only value has no effect
    out.max_tokens = fields.count("max_output_tokens");
    repeat(fields, out);
    fields.finish();
    return out;
}

} // namespace ggufx::cli
