// Chat templates against stored answers of Python's jinja2, small ones with every construct.
// Built-in formats by name against hashes of their output (formats.txt, created when the output was
// that of llama.cpp). If ${GGUFX_TEST_DATA} exists, also templates of published models and the
// whole output of formats.
// usage: chat_oracles TEMPLATES.json [FORMATS.txt]; without the latter it prints the hashes.
// SPDX-License-Identifier: MIT
#include "stored_json.hpp"

#include <ggufx/ggufx.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

ggufx_runtime *g_runtime;
int g_failed, g_checks;

struct Case {
    std::string text, format; // either a template or a format
    std::string messages, tools, variables;
    bool generate = false;
    int64_t clock = 0;
    const char *bos = nullptr, *eos = nullptr;
};

struct Result {
    ggufx_status status = GGUFX_OK;
    std::string text; // or the error message
};

void set(const char *&text, size_t &length, const std::string &value) {
    if (value.empty()) return;
    text = value.data();
    length = value.size();
}

Result render(const Case &c) {
    ggufx_chat_template_options options;
    ggufx_chat_request request;
    options = {};
    options.struct_size = sizeof options;
    request = {};
    request.struct_size = sizeof request;
    if (c.format.empty()) { options.text = {c.text.c_str(), c.text.size()}; }
    set(options.format.data, options.format.size, c.format);
    const std::string bos = "<BOS>", eos = "<EOS>";
    if (c.bos) set(options.bos_token.data, options.bos_token.size, bos);
    if (c.eos) set(options.eos_token.data, options.eos_token.size, eos);
    set(request.messages_json.data, request.messages_json.size, c.messages);
    set(request.tools.data, request.tools.size, c.tools);
    set(request.variables.data, request.variables.size, c.variables);
    request.flags = GGUFX_CHAT_CLOCK | (c.generate ? GGUFX_CHAT_GENERATE : 0);
    request.unix_time = c.clock;
    ggufx_chat_template *chat = nullptr;
    ggufx_error error = {};
    Result out;
    out.status = ggufx_chat_template_create(&chat, g_runtime, nullptr, &options, &error);
    size_t n = 0;
    if (out.status == GGUFX_OK) {
        out.text.resize(1 << 18);
        out.status = ggufx_chat_template_render(out.text.data(), out.text.size(), &n, chat,
                                                &request, &error);
        out.text.resize(out.status == GGUFX_OK ? n : 0);
    }
    if (out.status != GGUFX_OK) out.text = error.message;
    ggufx_chat_template_destroy(chat);
    return out;
}

void check(const std::string &what, const Result &got, bool fails, const std::string &want) {
    g_checks++;
    const bool right = fails ? got.status != GGUFX_OK && !got.text.empty()
                             : got.status == GGUFX_OK && got.text == want;
    if (right) return;
    g_failed++;
    fprintf(stderr, "%s: %s\n  got  %s\n  want %s\n", what.c_str(), ggufx_status_name(got.status),
            got.text.c_str(), fails ? "an error" : want.c_str());
}

std::string bytes_of(const std::string &path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        fprintf(stderr, "cannot read %s\n", path.c_str());
        exit(1);
    }
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

int test_small(const std::string &path) {
    const Json all = json_file(path);
    int n = 0;
    for (const Json &row : all.at("templates").elements()) {
        Case c;
        c.text = text_at(row, "template");
        c.variables = all.at("variables").dump();
        c.clock = static_cast<int64_t>(all.at("clock").natural());
        check(c.text, render(c), row.find("error"), text_or_empty(row, "text"));
        n++;
    }
    return n;
}

// Cases that fail in Python, or lose a call beside empty content. The library adapts their history
// and variables to the template (src/chat/history.hpp). The third column is a part of the expected
// text.
const char *const kFitted[][3] = {
    {"meetkai-functionary-medium-v3.2", "tool_reply",
     ">>>get_weather\n{\"city\": \"Paris\"}<|eot_id|>"},
    {"llama-cpp-deepseek-r1", "tools", "\"name\": \"get_weather\""},
    {"llama-cpp-deepseek-r1", "tool_reply", "function<｜tool▁sep｜>get_weather\n```json\n"},
    {"deepseek-ai-DeepSeek-R1-Distill-Llama-8B", "tool_reply",
     "function<｜tool▁sep｜>get_weather\n```json\n{\"city\": \"Paris\"}\n"},
    {"fireworks-ai-llama-3-firefunction-v2", "user",
     "JSON spec:\n[]\nToday is 2024-11-22 00:00:00."},
    {"fireworks-ai-llama-3-firefunction-v2", "turns", "<|eot_id|>"},
    {"fireworks-ai-llama-3-firefunction-v2", "tools", "\"name\": \"get_weather\""},
    {"fireworks-ai-llama-3-firefunction-v2", "tool_reply",
     "functools[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]"},
};

// Templates that leave out the calls of a history. These texts are written into the content; the
// rest is Python's.
const char *const kWritten[][3] = {
    {"LFM2-8B-A1B.jinja", "tool_reply",
     "<|tool_call_start|>[get_weather(city=\"Paris\")]<|tool_call_end|>"},
    {"LFM2.5-Instruct.jinja", "tool_reply",
     "<|tool_call_start|>[get_weather(city=\"Paris\")]<|tool_call_end|>"},
    {"ibm-granite-granite-3.3-2B-Instruct.jinja", "tool_reply",
     "<|tool_call|>[{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}]"},
};

// The rendered text without them.
Result without_written(const std::string &name, const std::string &conversation, Result got) {
    for (const auto &[of, with, text] : kWritten) {
        if (name != of || conversation != with || got.status != GGUFX_OK) continue;
        const size_t at = got.text.find(text);
        if (at == got.text.npos)
            got.text = std::string("no call in ") + got.text;
        else
            got.text.erase(at, std::string(text).size());
    }
    return got;
}

bool check_fitted(const std::string &name, const std::string &conversation, const Result &got) {
    for (const auto &[of, with, part] : kFitted) {
        if (name != std::string(of) + ".jinja" || conversation != with) continue;
        g_checks++;
        if (got.status == GGUFX_OK && got.text.find(part) != std::string::npos) return true;
        g_failed++;
        fprintf(stderr, "%s %s: %s without \"%s\"\n", of, with, got.text.c_str(), part);
        return true;
    }
    return false;
}

int test_models(const std::string &root) {
    const Json all = json_file(root + "/jinja-rendered.json");
    int n = 0;
    const Json &templates = all.at("templates");
    for (const std::string &name : templates.keys()) {
        const Json &rendered = templates.at(name).at("rendered");
        for (const std::string &conversation : rendered.keys()) {
            const Json &with = all.at("conversations").at(conversation);
            const std::string text = text_at(rendered, conversation);
            Case c;
            c.text = bytes_of(root + "/templates/" + name);
            c.messages = with.at("messages").dump();
            if (with.find("tools")) c.tools = with.at("tools").dump();
            c.generate = true;
            c.clock = 1732233600; // 2024-11-22
            c.bos = "<BOS>";
            c.eos = "<EOS>";
            n++;
            // The reference's sandbox forbids appending to a list; this library changes a copy.
            if (text.rfind("error: SecurityError", 0) == 0) continue;
            const Result got = render(c);
            if (check_fitted(name, conversation, got)) continue;
            check(name + " " + conversation, without_written(name, conversation, got),
                  text.rfind("error:", 0) == 0, text);
        }
    }
    return n;
}

int test_formats(const std::string &root) {
    const Json all = json_file(root + "/formats.json");
    int n = 0;
    const Json &formats = all.at("formats");
    for (const std::string &name : formats.keys()) {
        const Json &rows = formats.at(name);
        for (const std::string &key : rows.keys()) {
            Case c;
            c.format = name;
            c.generate = key.find("+gen") != std::string::npos;
            c.messages = all.at("conversations").at(key.substr(0, key.find('+'))).dump();
            check("format " + name + " " + key, render(c), false, text_at(rows, key));
            n++;
        }
    }
    return n;
}

const char *const kConversations[] = {
    R"([{"role":"user","content":"Hello"}])",
    R"([{"role":"system","content":"Be brief."},{"role":"user","content":"One?"},
        {"role":"assistant","content":"Two."},{"role":"user","content":" Three \n"}])",
    R"([{"role":"user","content":"a"},{"role":"assistant","content":" b "},
        {"role":"user","content":"\u00e9\u4e2d \ud83d\ude42"},{"role":"assistant","content":"c"}])",
};

// Returns lines "format conversation hash", with a "+" for a generation prompt. FNV-1a.
std::string hashes_of_formats() {
    std::string out;
    for (size_t i = 0; ggufx_chat_template_builtin_name(i); i++) {
        for (int k = 0; k < 6; k++) {
            Case c;
            c.format = ggufx_chat_template_builtin_name(i);
            c.generate = k % 2 == 1;
            c.messages = kConversations[k / 2];
            const Result result = render(c);
            uint64_t hash = 0xcbf29ce484222325u;
            for (const char b : result.status == GGUFX_OK ? result.text : "an error")
                hash = (hash ^ static_cast<uint8_t>(b)) * 0x100000001b3u;
            char line[96];
            snprintf(line, sizeof line, "%s %d%s %016" PRIx64 "\n", c.format.c_str(), k / 2,
                     c.generate ? "+" : "", hash);
            out += line;
        }
    }
    return out;
}

int test_hashes_of_formats(const std::string &path) {
    std::istringstream got(hashes_of_formats()), want(bytes_of(path));
    std::string a, b;
    int n = 0;
    while (std::getline(want, b)) {
        if (b[0] == '#') continue;
        g_checks++, n++;
        if (std::getline(got, a) && a == b) continue;
        g_failed++;
        fprintf(stderr, "hash of a format: %s, not %s\n", a.c_str(), b.c_str());
    }
    return n;
}

} // namespace

// TEMPLATES.JSON FORMATS.TXT: the templates of this project and hashes of the built-in formats;
// "stored": the templates of published models in GGUFX_TEST_DATA; "hashes": prints FORMATS.TXT.
int main(int argc, char **argv) {
    if (argc < 2) return 2;
    const char *const data = getenv("GGUFX_TEST_DATA");
    const std::string root = std::string(data ? data : "") + "/data/chat", what = argv[1];
    if (what == "stored" && !std::ifstream(root + "/formats.json")) {
        printf("skipped: no %s (GGUFX_TEST_DATA)\n", root.c_str());
        return 77;
    }
    ggufx_error error;
    if (ggufx_runtime_create(&g_runtime, nullptr, &error) != GGUFX_OK) return 1;
    int n = 0, n_wanted = 0;
    if (what == "hashes") {
        printf("# Hashes of the built-in formats (chat_oracles.cpp): format, conversation, "
               "FNV-1a.\n%s",
               hashes_of_formats().c_str());
    } else if (what == "stored") {
        n = test_models(root) + test_formats(root);
        n_wanted = 220 + 424;
    } else {
        n = test_small(what) + (argc == 3 ? test_hashes_of_formats(argv[2]) : 0);
        n_wanted = 200 + 318;
    }
    ggufx_runtime_destroy(g_runtime);
    if (what != "hashes") printf("%d results: %d checks, %d failed\n", n, g_checks, g_failed);
    return g_failed || n < n_wanted;
}
