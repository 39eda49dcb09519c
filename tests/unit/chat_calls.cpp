// Tool calls of every format. A template renders a conversation with calls, and the parser parses
// the rendered answer, whole, byte by byte and in random chunks. The history built from its events
// renders to the same text. The templates are those of tests/data/chat/calls.json, one for each
// call format; with the argument "stored", those of published models in ${GGUFX_TEST_DATA}.
// usage: chat_calls CALLS.json | stored
// SPDX-License-Identifier: MIT
#include "../parser_events.h"
#include "../text_of.h"
#include "oracle.hpp"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

namespace {

const char kTools[] = R"([
{"type":"function","function":{"name":"get_weather","description":"d","parameters":{"type":"object",
"properties":{"city":{"type":"string","description":"d"},"days":{"type":"integer","description":"d"},
"exact":{"type":"boolean","description":"d"},"list":{"type":"array","items":{"type":"string"},
"description":"d"},"more":{"type":"object","description":"d","additionalProperties":{"type":"string"}}},
"required":["city"]}}},
{"type":"function","function":{"name":"now","description":"d","parameters":{"type":"object",
"properties":{}}}}])";

struct Call {
    std::string id, name;
    Json arguments;
};

struct Scenario {
    const char *name;
    std::string content, reasoning;
    std::vector<Call> calls;
};

std::vector<Scenario> scenarios() {
    const Json paris = {{"city", "Paris"}};
    const Json nested = {{"city", "42"},
                         {"days", 12},
                         {"exact", true},
                         {"list", std::vector<std::string>{"a", "b \"c\""}},
                         {"more", Json{{"k", "v"}, {"l", std::vector<Json>{1, Json()}}}}};
    const Json markers = {{"city", "a < b {c} [d] 'e' \"f\"\nline"}};
    return {
        {"no arguments", "", "", {{"call00001", "now", Json::object()}}},
        {"nested arguments", "", "", {{"call00001", "get_weather", nested}}},
        {"two calls",
         "",
         "",
         {{"call00001", "get_weather", paris},
          {"call00002", "get_weather", Json{{"city", "Rome"}}}}},
        {"text before", "Sure.", "", {{"call00001", "get_weather", paris}}},
        {"reasoning before", "", "I need it.", {{"call00001", "get_weather", paris}}},
        {"signs in a value", "", "", {{"call00001", "get_weather", markers}}},
    };
}

class Chat {
public:
    explicit Chat(const std::string &text) {
        ggufx_chat_template_options options = {};
        options.struct_size = sizeof options;
        options.text = {text.data(), text.size()};
        options.bos_token = text_of("<BOS>");
        options.eos_token = text_of("<EOS>");
        ggufx_error error;
        must(ggufx_chat_template_create(&chat_, g_runtime, nullptr, &options, &error), error,
             "template");
        facts.struct_size = sizeof facts;
        must(ggufx_chat_template_info(&facts, chat_, &error), error, "facts");
    }
    ~Chat() { ggufx_chat_template_destroy(chat_); }
    Chat(const Chat &) = delete;
    Chat &operator=(const Chat &) = delete;

    bool render(std::string &out, const Json &messages, bool generate,
                std::string *why = nullptr) const {
        const std::string json = messages.dump();
        ggufx_chat_request request = {};
        request.struct_size = sizeof request;
        request.flags = GGUFX_CHAT_CLOCK | (generate ? GGUFX_CHAT_GENERATE : 0);
        request.messages_json = {json.data(), json.size()};
        request.tools = text_of(kTools);
        ggufx_error error = {};
        size_t n = 0;
        out.resize(1 << 18);
        const ggufx_status status =
            ggufx_chat_template_render(out.data(), out.size(), &n, chat_, &request, &error);
        if (why) *why = error.message;
        out.resize(status == GGUFX_OK ? n : 0);
        return status == GGUFX_OK;
    }
    const ggufx_chat_template *get() const { return chat_; }
    ggufx_chat_template_facts facts = {};

private:
    ggufx_chat_template *chat_ = nullptr;
};

struct Parsed {
    std::string content, reasoning, log;
    std::vector<Call> calls;
    std::vector<std::string> arguments;
    uint32_t kind = 0;
};

void note(Parsed &out, const ggufx_event &event) {
    const std::string piece(event.text.data, event.text.size);
    if (event.kind != out.kind || event.kind == GGUFX_EVENT_TOOL_CALL)
        out.log += "\n" + std::to_string(event.kind) + "/" + std::to_string(event.index) + ":";
    out.log += piece;
    out.kind = event.kind;
    if (event.kind == GGUFX_EVENT_TEXT) out.content += piece;
    if (event.kind == GGUFX_EVENT_REASONING) out.reasoning += piece;
    if (event.kind == GGUFX_EVENT_TOOL_CALL) {
        out.calls.push_back({"", piece, Json()});
        out.arguments.emplace_back();
    }
    if (event.kind == GGUFX_EVENT_TOOL_ID) out.calls.back().id = piece;
    if (event.kind == GGUFX_EVENT_TOOL_ARGUMENTS) out.arguments.back() += piece;
}

// Parses chunks of `step` bytes; 0: random lengths.
Parsed parse(const Chat &chat, const std::string &prompt, const std::string &text, size_t step) {
    Parsed out;
    ggufx_chat_parser_options options;
    ggufx_chat_parser *parser = nullptr;
    ggufx_error error;
    options = {};
    options.struct_size = sizeof options;
    options.chat = chat.get();
    options.prompt = {prompt.data(), prompt.size()};
    options.tools = text_of(kTools);
    must(ggufx_chat_parser_create(&parser, g_runtime, &options, &error), error, "parser");
    std::mt19937 random(static_cast<unsigned>(text.size()));
    for (size_t i = 0, n; i < text.size(); i += n) {
        n = std::min(step ? step : 1 + random() % 23, text.size() - i);
        must(ggufx_chat_parser_feed(parser, text.data() + i, n, &error), error, "feed");
    }
    must(ggufx_chat_parser_finish(parser, &error), error, "finish");
    for (ggufx_event event; next_event(&event, parser);) note(out, event);
    ggufx_chat_parser_destroy(parser);
    for (size_t i = 0; i < out.calls.size(); i++)
        out.calls[i].arguments = json_or_null(out.arguments[i]);
    return out;
}

std::string trimmed(const std::string &s) {
    const char *const space = " \t\r\n";
    const size_t begin = s.find_first_not_of(space);
    return begin == s.npos ? "" : s.substr(begin, s.find_last_not_of(space) - begin + 1);
}

Json message_of(const Scenario &of, const std::vector<Call> &calls, bool text) {
    Json message = {{"role", "assistant"}, {"content", of.content}};
    if (!of.reasoning.empty())
        for (const char *const key : {"reasoning_content", "reasoning", "thinking"})
            message[key] = of.reasoning;
    Json list = Json::array();
    for (const Call &call : calls) {
        const Json arguments = text ? Json(call.arguments.dump()) : call.arguments;
        list.push_back(Json{{"id", call.id},
                            {"type", "function"},
                            {"function", Json{{"name", call.name}, {"arguments", arguments}}}});
    }
    if (list.size() > 0) message["tool_calls"] = list;
    return message;
}

const Json kUser = {{"role", "user"}, {"content", "zzuserzz"}};

// Returns the output of a model: the rendered answer without its header and the end of the turn.
bool answer_text(const Chat &chat, const Json &message, std::string &out, std::string &prompt) {
    std::string plain, whole;
    const Json answer = {{"role", "assistant"}, {"content", "zzplainzz"}};
    if (!chat.render(plain, std::vector<Json>{kUser, answer}, false) ||
        !chat.render(whole, std::vector<Json>{kUser, message}, false) ||
        !chat.render(prompt, std::vector<Json>{kUser}, true))
        return false;
    // The template's fallback may change the text before the user's message.
    for (std::string *const text : {&plain, &whole, &prompt})
        text->erase(0, text->rfind("zzuserzz") + 8);
    const size_t at = plain.find("zzplainzz");
    if (at == plain.npos) return false;
    std::string tail = plain.substr(at + 9);
    size_t end = 0;
    // The answer begins after the generation prompt or after the header of a plain answer. If
    // neither is a prefix, it begins at a marker at their first difference.
    const auto common = [&](const std::string &head) {
        size_t n = 0;
        while (n < head.size() && n < whole.size() && head[n] == whole[n]) n++;
        if (n < head.size())
            while (n > 0 && whole[n] != '<' && whole[n - 1] != '>' && whole[n - 1] != '\n') n--;
        return n;
    };
    const size_t begin = whole.starts_with(prompt)
                             ? prompt.size()
                             : std::max(common(prompt), common(plain.substr(0, at)));
    const std::string rest = whole.substr(begin);
    while (end < tail.size() && end < rest.size() &&
           tail[tail.size() - end - 1] == rest[rest.size() - end - 1])
        end++;
    while (end > 0 && !strchr("<[\n", rest[rest.size() - end])) end--;
    prompt = whole.substr(0, begin);
    // Apriel's template opens reasoning only in the prompt.
    const std::string open = chat.facts.reasoning_open, close = chat.facts.reasoning_close;
    if (!close.empty() && rest.find(close) != rest.npos && whole.find(open) == whole.npos)
        prompt += open;
    out = rest.substr(0, rest.size() - end);
    return true;
}

// Returns whether the template puts the calls into messages of their own, which no model writes at
// once.
bool has_header(const std::string &text, const std::string &prompt) {
    const std::string header = trimmed(prompt);
    return header.size() > 3 && text.find(header) != text.npos;
}

bool is_rendered(const std::string &text, const Scenario &of) {
    size_t at = 0;
    for (const Call &call : of.calls) {
        at = text.find(call.name, at);
        if (at++ == text.npos) return false;
    }
    return (of.content.empty() || text.find(of.content) != text.npos);
}

void check_same(const std::string &what, const Parsed &got, const Scenario &want,
                const std::string &text) {
    CHECK(got.calls.size() == want.calls.size(), "%s: %zu calls in\n%s\n%s", what.c_str(),
          got.calls.size(), text.c_str(), got.log.c_str());
    for (size_t i = 0; i < want.calls.size() && i < got.calls.size(); i++) {
        CHECK(got.calls[i].name == want.calls[i].name &&
                  got.calls[i].arguments.dump() == want.calls[i].arguments.dump(),
              "%s: call %zu is %s %s in\n%s", what.c_str(), i, got.calls[i].name.c_str(),
              got.arguments[i].c_str(), text.c_str());
    }
    CHECK(trimmed(got.content) == want.content, "%s: content \"%s\" in\n%s", what.c_str(),
          got.content.c_str(), text.c_str());
    const bool has_reasoning = text.find(want.reasoning) != text.npos;
    CHECK(trimmed(got.reasoning) == (has_reasoning ? want.reasoning : ""),
          "%s: reasoning \"%s\" in\n%s", what.c_str(), got.reasoning.c_str(), text.c_str());
}

// Returns whether the template renders the calls.
bool check_scenario(const std::string &name, const Chat &chat, Scenario scenario) {
    const std::string what = name + ": " + scenario.name;
    for (const bool as_text : {false, true}) {
        std::string text, prompt;
        if (!answer_text(chat, message_of(scenario, scenario.calls, as_text), text, prompt))
            continue;
        if (has_header(text, prompt)) continue;
        if (!is_rendered(text, scenario)) {
            if (scenario.content.empty()) continue;
            scenario.content.clear(); // some templates drop the text beside calls
            if (!is_rendered(text, scenario)) continue;
        }
        // Escaped twice: the template encodes a string with JSON as JSON.
        if (as_text && text.find("\\\"city") != text.npos) continue;
        if ((chat.facts.flags & GGUFX_CHAT_CHANNELS) &&
            !scenario.content.empty()) // a separate channel
            std::swap(scenario.content, scenario.reasoning);
        const Parsed whole = parse(chat, prompt, text, text.size() + 1);
        // Nemotron Nano's template opens reasoning before any answer.
        const std::string open = chat.facts.reasoning_open;
        if (!open.empty() && trimmed(prompt).ends_with(open) &&
            text.find(chat.facts.reasoning_close) == text.npos && !scenario.content.empty())
            return true;
        check_same(what, whole, scenario, text);
        for (const size_t step : {size_t{1}, size_t{0}, size_t{3}}) {
            const Parsed cut = parse(chat, prompt, text, step);
            CHECK(cut.log == whole.log, "%s: pieces of %zu:%s\nnot%s", what.c_str(), step,
                  cut.log.c_str(), whole.log.c_str());
        }
        // The history of these events renders to the same text.
        Scenario again = scenario;
        again.calls = whole.calls;
        for (size_t i = 0; i < again.calls.size() && i < scenario.calls.size(); i++)
            if (again.calls[i].id.empty()) again.calls[i].id = scenario.calls[i].id;
        std::string second, second_prompt;
        const bool renders =
            answer_text(chat, message_of(again, again.calls, as_text), second, second_prompt);
        CHECK(renders && second == text, "%s: the history renders to\n%s\nnot\n%s", what.c_str(),
              second.c_str(), text.c_str());
        return true;
    }
    return false;
}

int check_template(const std::string &name, const std::string &text, bool shows_calls) {
    const Chat chat(text);
    if (!(chat.facts.flags & (GGUFX_CHAT_TAKES_TOOLS | GGUFX_CHAT_CALLS)) && !shows_calls) return 0;
    CHECK(chat.facts.flags & GGUFX_CHAT_CALLS, "%s: the format of calls is not known",
          name.c_str());
    int n = 0;
    for (const Scenario &scenario : scenarios()) n += check_scenario(name, chat, scenario);
    CHECK(!shows_calls || n >= 4, "%s: %d scenarios were rendered", name.c_str(), n);
    return n;
}

// Checks answers that templates do not render, in the form that models of these templates write.
void check_written(const std::string &name, const Chat &chat, const Json &row) {
    const std::string text = text_at(row, "output"), prompt = text_or_empty(row, "prompt");
    const Scenario want = {
        "written", text_or_empty(row, "content"), text_or_empty(row, "reasoning"), {}};
    const auto &calls = row.at("calls").elements();
    for (const size_t step : {text.size(), size_t{1}, size_t{0}}) {
        const Parsed got = parse(chat, prompt, text, step);
        CHECK(got.calls.size() == calls.size(), "%s: %zu calls in %s:%s", name.c_str(),
              got.calls.size(), text.c_str(), got.log.c_str());
        for (size_t i = 0; i < got.calls.size() && i < calls.size(); i++)
            CHECK(got.calls[i].name == *calls[i].elements()[0].text() &&
                      got.calls[i].arguments.dump() == calls[i].elements()[1].dump(),
                  "%s: %s:%s", name.c_str(), text.c_str(), got.log.c_str());
        CHECK(trimmed(got.content) == want.content && trimmed(got.reasoning) == want.reasoning,
              "%s: %s:%s", name.c_str(), text.c_str(), got.log.c_str());
    }
}

int run_own(const std::string &path) {
    int n = 0;
    const Json all = json_file(path);
    for (const std::string &name : all.keys()) {
        const Json &row = all.at(name);
        const std::string text = text_at(row, "template");
        n += check_template(name, text, true);
        if (!row.find("written")) continue;
        const Chat chat(text);
        for (const Json &one : row.at("written").elements()) check_written(name, chat, one);
    }
    return n;
}

int run_stored() {
    int n = 0;
    const std::string folder = g_root + "/data/chat/templates";
    std::vector<std::string> names;
    DIR *const dir = opendir(folder.c_str());
    if (!dir) {
        fprintf(stderr, "no folder %s\n", folder.c_str());
        exit(77);
    }
    while (const dirent *const entry = readdir(dir)) names.emplace_back(entry->d_name);
    closedir(dir);
    std::sort(names.begin(), names.end());
    for (const std::string &name : names)
        if (name.ends_with(".jinja"))
            n += check_template(name, read_bytes("/data/chat/templates/" + name), false);
    return n;
}

} // namespace

int main(int argc, char **argv) {
    const bool stored = argc > 1 && std::string(argv[1]) == "stored";
    if (stored ? !begin_stored() : false) return 77;
    if (!stored) begin_in(".");
    const int n = stored ? run_stored() : run_own(argc > 1 ? argv[1] : "");
    printf("%d conversations\n", n);
    if (n < (stored ? 200 : 60)) g_failed++;
    return end();
}
