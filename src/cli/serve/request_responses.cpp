// Requests of /v1/responses, converted to chat requests.
// SPDX-License-Identifier: MIT
#include "serve/history.hpp"
#include "serve/request_common.hpp"

#include <limits>

namespace ggufx::cli {

namespace {

// Returns a string, or the text parts of a list.
Json content_of(Fields &item, const char *name, const Json &content) {
    if (content.text()) return content;
    if (!content.is_array()) item.refuse(name, "is neither a string nor a list of parts");
    Json parts = Json::array();
    for (size_t i = 0; i < content.size(); i++) {
        Fields part = item.within(content.elements()[i], index_of(name, i));
        const std::string type = part.text("type").value_or("");
        if (type != "input_text" && type != "output_text" && type != "reasoning_text" &&
            type != "summary_text" && type != "text")
            part.refuse("type", "is not text: only text is supported");
        const auto piece = part.text("text");
        if (!piece) part.refuse("text", "is missing");
        part.ignore("annotations"); // present in messages returned by this server
        part.ignore("logprobs");
        part.finish();
        parts.push_back(Json{{"type", "text"}, {"text", *piece}});
    }
    return parts;
}

std::string text_of(Fields &item, const char *name, const Json &content) {
    const Json all = content_of(item, name, content);
    if (all.text()) return *all.text();
    std::string text;
    for (const Json &part : all.elements()) text += *part.find("text")->text();
    return text;
}

// Converts input items to chat messages.
class Conversation {
public:
    // Returns false for items of server-side tools, which are not part of the conversation.
    bool add(Fields item) {
        static constexpr struct {
            const char *type;
            void (Conversation::*add)(Fields &);
        } kinds[] = {{"message", &Conversation::add_message},
                     {"function_call", &Conversation::add_call},
                     {"function_call_output", &Conversation::add_output},
                     {"custom_tool_call", &Conversation::add_custom_call},
                     {"custom_tool_call_output", &Conversation::add_output},
                     {"reasoning", &Conversation::add_reasoning}};
        const std::string type = item.text("type").value_or("message");
        if (type == "web_search_call" || type == "file_search_call") return false;
        item.ignore("id");
        item.ignore("status");
        for (const auto &kind : kinds) {
            if (type != kind.type) continue;
            (this->*kind.add)(item);
            item.finish();
            return true;
        }
        item.refuse("type", "is not one of message, function_call, function_call_output, "
                            "custom_tool_call, custom_tool_call_output and reasoning");
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
        const std::string role = item.text("role").value_or("");
        if (role != "system" && role != "developer" && role != "user" && role != "assistant")
            item.refuse("role", "is not one of system, developer, user and assistant");
        const Json *const content = item.take("content");
        if (!content) item.refuse("content", "is missing");
        item.ignore("phase"); // present in messages returned by this server
        if (role != "assistant") {
            flush();
            say(role == "developer" ? "system" : role, content_of(item, "content", *content));
            return;
        }
        if (has_text_ || calls_.size() > 0) flush();
        text_ = text_of(item, "content", *content);
        has_text_ = true;
    }
    void add_call(Fields &item) {
        const Json arguments = call_arguments(item);
        call(item, arguments);
    }
    // The input of a custom tool is free text: passed as the single argument of a function.
    void add_custom_call(Fields &item) {
        call(item, Json{{"input", item.text("input").value_or("")}});
    }
    void call(Fields &item, const Json &arguments) {
        const auto id = item.text("call_id"), name = item.text("name");
        if (!id) item.refuse("call_id", "is missing");
        if (!name) item.refuse("name", "is missing");
        calls_.push_back(Json{{"id", *id},
                              {"type", "function"},
                              {"function", Json{{"name", *name}, {"arguments", arguments}}}});
    }
    // Passes values other than strings as JSON.
    void add_output(Fields &item) {
        const auto id = item.text("call_id");
        if (!id) item.refuse("call_id", "is missing");
        const Json *const output = item.take("output");
        if (!output) item.refuse("output", "is missing");
        const bool is_content = output->text() || output->is_array();
        const Json content =
            is_content ? content_of(item, "output", *output) : Json(output->dump());
        flush();
        messages_.push_back(Json{{"role", "tool"}, {"content", content}, {"tool_call_id", *id}});
    }
    void add_reasoning(Fields &item) {
        const Json *const content = item.take("content"), *const summary = item.take("summary");
        item.no_effect("encrypted_content", {});
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
    const Json *const input = fields.take("input");
    if (!input) fields.refuse("input", "is missing");
    if (input->text())
        all.say("user", *input->text());
    else if (input->is_array() && input->size() > 0)
        for (size_t i = 0; i < input->size(); i++) {
            const std::string name = index_of("input", i);
            if (!all.add(fields.within(input->elements()[i], name))) out.ignored.push_back(name);
        }
    else
        fields.refuse("input", "is neither a string nor a list of one item or more");
    out.messages = all.finish().dump();
}

// Functions are flat here, and nested in "function" in chats.
void read_functions(Fields &fields, ResponsesWanted &out) {
    const Json *const tools = fields.take("tools");
    const Json *const choice = fields.take("tool_choice");
    out.asked["tool_choice"] = choice ? *choice : Json("auto");
    out.asked["tools"] = tools ? *tools : Json::array();
    read_tools(fields, out, ToolForm::flat);
}

void read_text_form(Fields &fields, ResponsesWanted &out) {
    Json format = Json{{"type", "text"}};
    std::string verbosity = "medium";
    if (const Json *const text = fields.take("text")) {
        Fields of = fields.within(*text, "text");
        verbosity = read_verbosity(of, out);
        if (const Json *const given = of.take("format")) format = *given;
        of.finish();
    }
    Fields form = fields.within(format, "text.format");
    const std::string type = form.text("type").value_or("");
    if (type == "json_object") {
        out.form = AnswerForm::object;
        out.schema = "{\"type\":\"object\"}";
    } else if (type == "json_schema") {
        form.text("name");
        form.text("description");
        form.truth("strict"); // always strict
        const Json *const rules = form.take("schema");
        if (!rules) form.refuse("schema", "is missing");
        out.form = AnswerForm::schema;
        out.schema = rules->dump();
    } else if (type != "text") {
        form.refuse("type", "is not one of text, json_object and json_schema");
    }
    form.finish();
    if (out.form != AnswerForm::text && !out.forced.empty())
        fields.refuse("text", "has a format, which is not supported together with a forced call");
    out.asked["text"] = Json{{"format", format}, {"verbosity", verbosity}};
}

void read_reasoning(Fields &fields, ResponsesWanted &out) {
    if (const Json *const reasoning = fields.take("reasoning")) {
        Fields of = fields.within(*reasoning, "reasoning");
        read_effort(of, "effort", out);
        read_budget(of, "max_tokens", out);
        // No summaries: all reasoning is sent.
        for (const char *name : {"summary", "generate_summary"})
            of.no_effect(name, {"auto", "concise", "detailed"});
        of.finish();
    }
    const Json effort = out.reasoning_effort.empty() ? Json() : Json(out.reasoning_effort);
    out.asked["reasoning"] = Json{{"effort", effort}, {"summary", Json()}};
}

void read_logprobs(Fields &fields, ResponsesWanted &out) {
    if (const Json *const include = fields.take("include")) {
        if (!include->is_array()) fields.refuse("include", "is not a list");
        for (const Json &one : include->elements()) {
            if (one.text() && *one.text() == "message.output_text.logprobs")
                out.logprobs = true;
            else if (!one.text() || *one.text() != "reasoning.encrypted_content")
                fields.refuse("include", "has an entry that is not supported");
        }
    }
    if (const auto top = fields.whole("top_logprobs", 0, kMostTop)) {
        if (*top > 0 && !out.logprobs)
            fields.refuse("top_logprobs", "needs include message.output_text.logprobs");
        out.n_top = static_cast<uint32_t>(*top);
    }
    out.asked["top_logprobs"] = out.n_top;
}

// Documented fields that have no effect at these values: the server stores nothing.
void pass_over(Fields &fields, ResponsesWanted &out) {
    fields.no_effect("store", {false});
    fields.no_effect("background", {false});
    fields.no_effect("truncation", {"disabled"});
    fields.no_effect("service_tier", {"auto", "default"});
    for (const char *name :
         {"previous_response_id", "conversation", "prompt", "max_tool_calls", "context_management"})
        fields.no_effect(name, {});
    for (const char *name :
         {"safety_identifier", "prompt_cache_key", "prompt_cache_retention", "client_metadata"})
        fields.ignore(name);
    const Json *const metadata = fields.take("metadata");
    const auto user = fields.text("user");
    out.asked["metadata"] = metadata ? *metadata : Json::object();
    out.asked["user"] = user ? Json(*user) : Json();
    out.asked["store"] = false;
    out.asked["background"] = false;
    out.asked["truncation"] = "disabled";
    out.asked["service_tier"] = "default";
    out.asked["parallel_tool_calls"] = out.forced.empty() && out.parallel_calls;
    out.asked["previous_response_id"] = Json();
}

} // namespace

ResponsesWanted read_responses(const Json &body, const SamplingDefaults &defaults, bool lenient) {
    Fields fields(body, lenient);
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
    out.stream = fields.truth("stream").value_or(false);
    if (const Json *const options = fields.take("stream_options")) {
        Fields of = fields.within(*options, "stream_options");
        of.no_effect("include_obfuscation", {false});
        of.finish();
    }
    if (const auto n = fields.whole("max_output_tokens", 1, std::numeric_limits<uint32_t>::max()))
        out.max_tokens = static_cast<uint32_t>(*n);
    out.asked["max_output_tokens"] = out.max_tokens ? Json(*out.max_tokens) : Json();
    out.asked["temperature"] = static_cast<double>(out.sampling.temperature);
    out.asked["top_p"] = static_cast<double>(out.sampling.top_p);
    pass_over(fields, out);
    fields.finish();
    return out;
}

} // namespace ggufx::cli
