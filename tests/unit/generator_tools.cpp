// Constrained answers to conversations: tool calls that an output must have, and JSON after
// reasoning. For each form in tests/data/chat/calls.json, the parser must find the call of the
// events in the text.
// usage: generator_tools MODEL CALLS.json
// SPDX-License-Identifier: MIT
#include "../parser_events.h"
#include "generator_calls.hpp"

#include "oracle.hpp"

#include <string.h>

#include <algorithm>
#include <fstream>
#include <map>

namespace {

constexpr uint32_t kContext = 1024;

DemoModel g;

// ---- conversations

constexpr const char *kMessages = R"([{"role":"user","content":"Hello"}])";

// Parameters of every kind: an open and a closed set of strings, a reference, values in JSON.
const char kTools[] = R"([
{"type":"function","function":{"name":"weather","parameters":{"type":"object","properties":{
"city":{"enum":["Rome","Oslo"]},"note":{"type":"string","maxLength":6},"days":{"$ref":"#/$defs/days"},
"list":{"type":"array","items":{"const":"x"},"minItems":1,"maxItems":2}},
"required":["city","note","days","list"],"additionalProperties":false,
"$defs":{"days":{"enum":[1,2,30]}}}}},
{"type":"function","function":{"name":"now"}}])";

struct Template {
    explicit Template(const std::string &text) {
        ggufx_chat_template_options options = {};
        options.struct_size = sizeof options;
        options.text = {text.data(), text.size()};
        ggufx_error error;
        must(ggufx_chat_template_create(&handle, g_runtime, nullptr, &options, &error), error,
             "template");
        facts.struct_size = sizeof facts;
        must(ggufx_chat_template_info(&facts, handle, &error), error, "facts");
    }
    ~Template() { ggufx_chat_template_destroy(handle); }
    Template(const Template &) = delete;
    ggufx_chat_template *handle = nullptr;
    ggufx_chat_template_facts facts = {};
};

struct Wanted {
    uint32_t choice = GGUFX_TOOL_CHOICE_REQUIRED, flags = 0, request_flags = GGUFX_CHAT_NO_THINK;
    std::string tool_name = {}, schema = {}, tools = kTools, call_id = "call00001";
    const ggufx_grammar_source *grammars = nullptr;
};

ggufx_text text_or_none(const std::string &text) {
    return {text.empty() ? nullptr : text.data(), text.size()};
}

struct Request : ggufx_chat_request {
    explicit Request(const Wanted &wanted) : ggufx_chat_request() {
        struct_size = sizeof(ggufx_chat_request);
        flags = GGUFX_CHAT_GENERATE | wanted.request_flags;
        messages_json = text_of(kMessages);
        tools = text_or_none(wanted.tools);
    }
};

ggufx_status make(ggufx_chat_prompt **out, const Template &chat, const Wanted &wanted,
                  ggufx_error *error) {
    const Request request(wanted);
    ggufx_chat_prompt_options options = {};
    options.struct_size = sizeof options;
    options.flags = wanted.flags;
    options.chat = chat.handle;
    options.tokenizer = g.tokenizer;
    options.request = &request;
    options.tool_choice = wanted.choice;
    options.grammar_flags = GGUFX_GRAMMAR_COMPACT;
    options.tool_name = text_or_none(wanted.tool_name);
    options.schema = text_or_none(wanted.schema);
    options.call_id = text_or_none(wanted.call_id);
    options.grammars = wanted.grammars;
    return ggufx_chat_prompt_create(out, &options, error);
}

// A conversation made ready.
struct Ready {
    Ready(const Template &chat, const Wanted &wanted) {
        ggufx_error error;
        must(make(&handle, chat, wanted, &error), error, "chat prompt");
    }
    ~Ready() { ggufx_chat_prompt_destroy(handle); }
    Ready(const Ready &) = delete;
    Ids ids() const {
        size_t n = 0;
        (void)ggufx_chat_prompt_tokens(nullptr, 0, &n, handle, nullptr);
        Ids out(n);
        ggufx_error error;
        must(ggufx_chat_prompt_tokens(out.data(), n, &n, handle, &error), error, "tokens");
        return out;
    }
    void give_to(Gen &gen) const {
        ggufx_prompt prompt = {};
        prompt.struct_size = sizeof prompt;
        prompt.chat = handle;
        ggufx_error error;
        must(gen.set(prompt, &error), error, "prompt");
    }
    ggufx_chat_prompt *handle = nullptr;
};

GeneratorMode mode_of(uint64_t seed, uint32_t flags = 0) {
    return {.flags = flags,
            .max_tokens = 300,
            .temperature = 1.3f,
            .seed = seed,
            .tokenizer = g.tokenizer};
}

// ---- the call in the text

std::string text_of_ids(const Ids &ids) {
    std::string out(64 * ids.size() + 64, '\0');
    size_t n = 0;
    ggufx_error error;
    must(ggufx_detokenize(out.data(), out.size(), &n, g.tokenizer, ids.data(), ids.size(),
                          GGUFX_DETOKENIZE_KEEP_SPECIAL | GGUFX_DETOKENIZE_KEEP_SPACE, &error),
         error, "detokenize");
    out.resize(n);
    return out;
}

struct Found {
    std::string name, arguments;
    size_t n_calls = 0;
};

Found parse(const Template &chat, const Wanted &wanted, const std::string &text) {
    Found out;
    ggufx_chat_parser_options options = {};
    options.struct_size = sizeof options;
    options.chat = chat.handle;
    options.tools = {wanted.tools.data(), wanted.tools.size()};
    ggufx_chat_parser *parser = nullptr;
    ggufx_error error;
    must(ggufx_chat_parser_create(&parser, g_runtime, &options, &error), error, "parser");
    must(ggufx_chat_parser_feed(parser, text.data(), text.size(), &error), error, "feed");
    must(ggufx_chat_parser_finish(parser, &error), error, "finish");
    for (ggufx_event event; next_event(&event, parser);) {
        const std::string_view piece(event.text.data, event.text.size);
        out.n_calls = event.index + (event.kind >= GGUFX_EVENT_TOOL_CALL);
        if (event.kind == GGUFX_EVENT_TOOL_CALL) out.name += piece;
        if (event.kind == GGUFX_EVENT_TOOL_ARGUMENTS) out.arguments += piece;
    }
    ggufx_chat_parser_destroy(parser);
    return out;
}

// Whether arguments are those that the schema of kTools allows.
bool fit(const Json &arguments) {
    if (!arguments.is_object() || arguments.size() != 4) return false;
    const std::string city = text_at(arguments, "city"), note = text_at(arguments, "note");
    const uint64_t days = arguments.at("days").natural();
    const std::string list = arguments.at("list").dump();
    const auto n =
        std::count_if(note.begin(), note.end(), [](char c) { return (c & 0xc0) != 0x80; });
    return (city == "Rome" || city == "Oslo") && n <= 6 && (days == 1 || days == 2 || days == 30) &&
           (list == R"(["x"])" || list == R"(["x","x"])");
}

size_t g_weather = 0, g_now = 0;

void check_call(const std::string &form, const Template &chat, const Wanted &wanted, const Gen &gen,
                const Ids &prompt) {
    const std::string name = gen.text(GGUFX_EVENT_TOOL_CALL);
    const std::string told = gen.text(GGUFX_EVENT_TOOL_ARGUMENTS);
    CHECK(gen.end() == GGUFX_END_TOOL_CALL && gen.text().empty(), "%s: end %u, text \"%s\": %s",
          form.c_str(), gen.end(), gen.text().c_str(), gen.told().c_str());
    const Json arguments = json_or_null(told);
    const bool is_weather = name == "weather";
    (is_weather ? g_weather : g_now)++;
    CHECK(gen.text(GGUFX_EVENT_TOOL_ID) == wanted.call_id, "%s: id %s", form.c_str(),
          gen.text(GGUFX_EVENT_TOOL_ID).c_str());
    CHECK(is_weather ? fit(arguments) : name == "now" && arguments.dump() == "{}", "%s: %s(%s)",
          form.c_str(), name.c_str(), told.c_str());
    // The template's end of a call is not generated after an object.
    const Ids all = gen.tokens();
    std::string text = text_of_ids(all);
    text.erase(0, text_of_ids(prompt).size());
    for (const std::string word : {"weather", "now", "Rome", "Oslo"}) // the vocabulary adds spaces
        for (size_t at; (at = text.find(" " + word + " ")) != text.npos;)
            text.replace(at, word.size() + 2, word);
    Found found;
    for (const char *const more :
         {"", "}", "'", ")"}) { // an end that is no choice is not generated
        found = parse(chat, wanted, text + more + chat.facts.call_end);
        if (found.n_calls) break;
    }
    // Tokens may go on after the longest string.
    Json in_text = json_or_null(found.arguments);
    if (in_text.find("note") && arguments.find("note") &&
        text_at(in_text, "note").starts_with(text_at(arguments, "note")))
        in_text["note"] = arguments.at("note");
    CHECK(found.n_calls == 1 && found.name == name && in_text.dump() == arguments.dump(),
          "%s: told %s(%s), in the text %s(%s):\n%s", form.c_str(), name.c_str(), told.c_str(),
          found.name.c_str(), found.arguments.c_str(), text.c_str());
}

// The tokens of the rendered conversation, without those that are forced after it.
Ids rendered(const Template &chat, const Wanted &wanted) {
    Wanted free = wanted;
    free.choice = GGUFX_TOOL_CHOICE_AUTO;
    free.tool_name.clear();
    return Ready(chat, free).ids();
}

// ---- tests

void test_forms(const Json &forms) {
    size_t n = 0;
    for (const std::string &name : forms.keys()) {
        const std::string text = text_at(forms.at(name), "template");
        if (text.find("<|bot|>") == std::string::npos) continue;
        const Template chat(text);
        n++;
        for (const std::string tool : {"", "weather", "now"}) {
            Wanted wanted;
            wanted.tool_name = tool;
            const Ready ready(chat, wanted);
            const Ids prompt = rendered(chat, wanted);
            for (uint64_t seed = 0; seed < 3; seed++) {
                Gen gen(g.session, g.n_vocab, mode_of(seed));
                ready.give_to(gen);
                (void)gen.run();
                check_call(name, chat, wanted, gen, prompt);
                CHECK(tool.empty() || gen.text(GGUFX_EVENT_TOOL_CALL) == tool, "%s: not %s",
                      name.c_str(), tool.c_str());
            }
        }
    }
    CHECK(n > 20 && g_weather > 2 * n && g_now > 2 * n, "%zu forms, %zu and %zu calls", n,
          g_weather, g_now);
}

// Suspension after every token, and forks at every token, change nothing.
void test_same_bits(const Json &forms) {
    for (const char *const name : {"object", "tagged", "keys and values in tags", "Python"}) {
        const Template chat(text_at(forms.at(name), "template"));
        Wanted wanted;
        wanted.tool_name = "weather";
        const Ready ready(chat, wanted);
        const GeneratorMode mode = mode_of(7, GGUFX_GENERATOR_LOGPROBS);
        std::string whole;
        {
            Gen gen(g.session, g.n_vocab, mode);
            ready.give_to(gen);
            whole = gen.run();
        }
        Gen gen(g.session, g.n_vocab, mode);
        ready.give_to(gen);
        size_t n_forks = 0;
        for (bool ended = false; !ended;) {
            ggufx_error error;
            ggufx_generator *copy = nullptr;
            ggufx_fork_options fork = {};
            fork.struct_size = sizeof fork;
            fork.sequence = 1;
            must(ggufx_generator_fork(&copy, gen.handle(), &fork, &error), error, "fork");
            {
                Gen other(copy);
                const std::string before = gen.told();
                CHECK(before + other.run() == whole, "%s: a fork after %zu tokens", name, n_forks);
            }
            must(ggufx_session_truncate(g.session, 1, 0, &error), error, "empty");
            must(ggufx_generator_suspend(gen.handle(), &error), error, "suspend");
            must(ggufx_generator_resume(nullptr, gen.handle(), 0, &error), error, "resume");
            const ggufx_step_item item = gen.item();
            must(ggufx_session_step(nullptr, g.session, &item, 1, nullptr, &error), error, "step");
            ended = gen.poll();
            n_forks++;
        }
        CHECK(gen.told() == whole && n_forks > 8, "%s: suspended", name);
        // From the first token on again, with the numbers that follow.
        ggufx_error error;
        const Ids before = gen.tokens();
        must(ggufx_generator_truncate(gen.handle(), ready.ids().size() + 3, &error), error, "cut");
        gen.forget();
        (void)gen.run();
        CHECK(gen.end() == GGUFX_END_TOOL_CALL && gen.tokens() != before, "%s: truncated", name);
    }
}

// Draws given tokens while they are allowed, then the likeliest of those that are.
struct Script {
    Ids ids;
    size_t at = 0;
    static ggufx_status choose(void *user, ggufx_candidate *candidates, size_t n) {
        Script &self = *static_cast<Script *>(user);
        if (self.at >= self.ids.size()) return GGUFX_OK;
        const int32_t id = self.ids[self.at];
        const auto same = [&](const ggufx_candidate &one) { return one.id == id; };
        ggufx_candidate *const end = candidates + n;
        if (std::none_of(candidates, end, same)) return GGUFX_OK;
        self.at++;
        for (ggufx_candidate *one = candidates; one != end; one++)
            if (!same(*one)) one->logit = -__builtin_inff();
        return GGUFX_OK;
    }
};

OwnedSampler sampler_of(Script &script) {
    OwnedSampler chain = chain_of(script, g.n_vocab);
    ggufx_error error;
    must(ggufx_sampler_add_top_k(chain.get(), 1, &error), error, "top-k");
    return chain;
}

const char kSchema[] = R"({"type":"object","properties":{"a":{"enum":[1,2]}},"required":["a"],)"
                       R"("additionalProperties":false})";

constexpr const char *kOpened =
    "{% if tools %}{{ tools }}{% endif %}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n"
    "{% endfor %}{% if add_generation_prompt %}<|assistant|><think>\n{% endif %}{# </think> "
    "<tool_call>{\"name\": \"f\", \"arguments\": {}}</tool_call> #}";

// Reasoning comes first, with its stop strings not searched; the model may not end within it.
void test_reasoning() {
    const Template chat(kOpened);
    for (const bool closes : {true, false}) {
        for (const bool calls : {true, false}) {
            Wanted wanted = {.request_flags = 0};
            wanted.tool_name = calls ? "now" : "";
            wanted.choice = calls ? GGUFX_TOOL_CHOICE_REQUIRED : GGUFX_TOOL_CHOICE_AUTO;
            if (!calls) wanted.schema = kSchema, wanted.tools.clear();
            const Ready ready(chat, wanted);
            Script given = {tokenize(g.tokenizer, "a dog STOP", 0)};
            if (closes)
                for (const int32_t id : tokenize(g.tokenizer, "</think>", 0))
                    given.ids.push_back(id);
            else
                given.ids.push_back(g.eos);
            const OwnedSampler sampler = sampler_of(given);
            GeneratorMode mode = {.max_tokens = 100, .tokenizer = g.tokenizer};
            mode.sampler = sampler.get();
            mode.stops = {"STOP"};
            Gen gen(g.session, g.n_vocab, mode);
            ready.give_to(gen);
            (void)gen.run();
            const std::string why = gen.text(GGUFX_EVENT_REASONING);
            CHECK(why.find("a dog STOP") != std::string::npos, "reasoning \"%s\"", why.c_str());
            if (calls) {
                CHECK(gen.end() == GGUFX_END_TOOL_CALL &&
                          gen.text(GGUFX_EVENT_TOOL_CALL) == "now" &&
                          gen.text(GGUFX_EVENT_TOOL_ARGUMENTS) == "{}" && gen.text().empty(),
                      "end %u: %s", gen.end(), gen.told().c_str());
            } else {
                const std::string answer = json_or_null(gen.text()).dump();
                CHECK(gen.end() == GGUFX_END_EOG &&
                          (answer == R"({"a":1})" || answer == R"({"a":2})"),
                      "end %u: %s", gen.end(), gen.told().c_str());
            }
            CHECK(gen.facts().n_reasoning > 3 && gen.facts().n_reasoning < gen.facts().n_tokens,
                  "%zu of %zu tokens are reasoning", static_cast<size_t>(gen.facts().n_reasoning),
                  static_cast<size_t>(gen.facts().n_tokens));
        }
    }
}

// A budget of reasoning counts before a schema, too.
void test_budget() {
    const Template chat(kOpened);
    Wanted wanted = {.choice = GGUFX_TOOL_CHOICE_AUTO, .request_flags = 0};
    wanted.schema = kSchema;
    wanted.tools.clear();
    const Ready ready(chat, wanted);
    Script given = {tokenize(g.tokenizer, "a dog and a cat and a bird and a fish", 0)};
    const OwnedSampler sampler = sampler_of(given);
    GeneratorOptions options(g.n_vocab, {.max_tokens = 100, .tokenizer = g.tokenizer});
    options.sampler = sampler.get();
    options.flags = GGUFX_GENERATOR_HAS_MAX_REASONING;
    options.max_reasoning = 3;
    ggufx_generator *handle = nullptr;
    ggufx_error error;
    must(ggufx_generator_create(&handle, g.session, &options, &error), error, "generator");
    Gen gen(handle);
    ready.give_to(gen);
    (void)gen.run();
    CHECK(given.at == 3 && Json::parse(gen.text()).size() == 1, "%zu tokens of reasoning: %s",
          given.at, gen.told().c_str());
}

// With a schema and tools the model chooses between them by its first token.
void test_schema_or_call(const Json &forms) {
    const Template chat(text_at(forms.at("object"), "template"));
    Wanted wanted = {.choice = GGUFX_TOOL_CHOICE_AUTO};
    wanted.schema = kSchema;
    const Ready ready(chat, wanted);
    for (const bool calls : {true, false}) {
        const char *const said =
            calls ? R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)" : R"({"a":2})";
        Script given = {tokenize(g.tokenizer, said, 0)};
        given.ids.push_back(g.eos);
        // The first token of a call is that of its marker alone.
        const Ids marker = tokenize(g.tokenizer, "<tool_call>", GGUFX_TOKENIZE_PARSE_SPECIAL);
        if (calls) given.ids.insert(given.ids.begin(), marker.begin(), marker.end());
        if (calls)
            given.ids.erase(given.ids.begin() + static_cast<ptrdiff_t>(marker.size()),
                            given.ids.begin() + static_cast<ptrdiff_t>(2 * marker.size()));
        const OwnedSampler sampler = sampler_of(given);
        GeneratorMode mode = {.max_tokens = 100, .tokenizer = g.tokenizer};
        mode.sampler = sampler.get();
        Gen gen(g.session, g.n_vocab, mode);
        ready.give_to(gen);
        (void)gen.run();
        CHECK(gen.text(GGUFX_EVENT_TOOL_CALL) == (calls ? "now" : "") && gen.end() == GGUFX_END_EOG,
              "end %u: %s", gen.end(), gen.told().c_str());
        CHECK(calls || json_or_null(gen.text()).dump() == R"({"a":2})", "%s", gen.text().c_str());
    }
}

void test_one_call(const Json &forms) {
    const Template chat(text_at(forms.at("object"), "template"));
    const std::string call = R"(<tool_call>{"name": "now", "arguments": {}}</tool_call>)";
    for (const uint32_t flags : {0u, uint32_t{GGUFX_CHAT_PROMPT_ONE_CALL}}) {
        Wanted wanted = {.choice = GGUFX_TOOL_CHOICE_AUTO, .flags = flags};
        const Ready ready(chat, wanted);
        Script given = {tokenize(g.tokenizer, "One." + call + call + "More.", 0)};
        given.ids.push_back(g.eos);
        const OwnedSampler sampler = sampler_of(given);
        GeneratorMode mode = {.max_tokens = 200, .tokenizer = g.tokenizer};
        mode.sampler = sampler.get();
        Gen gen(g.session, g.n_vocab, mode);
        ready.give_to(gen);
        (void)gen.run();
        CHECK(gen.text(GGUFX_EVENT_TOOL_CALL) == (flags ? "now" : "nownow"), "calls: %s",
              gen.told().c_str());
        CHECK(gen.end() == (flags ? GGUFX_END_TOOL_CALL : GGUFX_END_EOG), "end %u", gen.end());
        CHECK((gen.text().find("More") == std::string::npos) == (flags != 0), "text \"%s\"",
              gen.text().c_str());
    }
}

// Grammars that the host compiles: each is asked for once, with its function, and kept alive.
struct Cache {
    size_t n = 0;
    std::string functions;
    ggufx_status refuses = GGUFX_OK;
    static ggufx_status find(void *user, const ggufx_grammar **out, const char *schema, size_t n,
                             const char *function, size_t n_function) {
        Cache &self = *static_cast<Cache *>(user);
        self.n++;
        self.functions += std::string(function, n_function) + ";";
        const bool is_any = std::string(schema, n) == R"({"type": "object"})";
        if (self.refuses != GGUFX_OK && !is_any) return self.refuses;
        ggufx_grammar_options options = {};
        options.struct_size = sizeof options;
        options.kind = GGUFX_GRAMMAR_JSON_SCHEMA;
        options.text = {schema, n};
        ggufx_error error;
        ggufx_grammar *made = nullptr;
        const ggufx_status status =
            ggufx_grammar_create(&made, g_runtime, g.tokenizer, &options, &error);
        self.kept.push_back(made);
        *out = made;
        return status;
    }
    std::vector<ggufx_grammar *> kept;
    void drop() {
        for (ggufx_grammar *const one : kept) ggufx_grammar_destroy(one);
        kept.clear();
    }
};

void test_grammars_of_the_host(const Json &forms) {
    const Template chat(text_at(forms.at("object"), "template"));
    Cache cache;
    Wanted wanted;
    ggufx_grammar_source source = {};
    source.struct_size = sizeof source;
    source.user = &cache;
    source.find = Cache::find;
    wanted.grammars = &source;
    {
        const Ready ready(chat, wanted);
        cache.drop();
        CHECK(cache.functions == "weather;now;", "functions %s", cache.functions.c_str());
        Gen gen(g.session, g.n_vocab, mode_of(1));
        ready.give_to(gen);
        (void)gen.run();
        check_call("host", chat, wanted, gen, rendered(chat, wanted));
    }
    // A schema that is not supported means any arguments, unless its function is the one to call.
    cache.refuses = GGUFX_E_UNSUPPORTED;
    cache.n = 0;
    {
        const Ready ready(chat, wanted);
        CHECK(cache.n == 4, "%zu schemas", cache.n);
        Gen gen(g.session, g.n_vocab, mode_of(1));
        ready.give_to(gen);
        for (int i = 0; i < 20 && !gen.end(); i++) {
            ggufx_error error;
            const ggufx_step_item item = gen.item();
            must(ggufx_session_step(nullptr, g.session, &item, 1, nullptr, &error), error, "step");
            (void)gen.poll();
        }
        CHECK(!gen.text(GGUFX_EVENT_TOOL_CALL).empty(), "no call: %s", gen.told().c_str());
    }
    cache.drop();
    ggufx_chat_prompt *out = nullptr;
    ggufx_error error = {};
    wanted.tool_name = "weather";
    CHECK(make(&out, chat, wanted, &error) == GGUFX_E_UNSUPPORTED && !out &&
              strstr(error.message, "weather"),
          "%s", error.message);
    wanted.tool_name.clear();
    for (const ggufx_status status : {GGUFX_E_CANCELLED, GGUFX_E_MEMORY}) {
        cache.refuses = status;
        CHECK(make(&out, chat, wanted, &error) == status && !out, "%s", error.message);
    }
    cache.drop();
}

void test_errors(const Json &forms) {
    const Template chat(text_at(forms.at("object"), "template"));
    const Template plain("{% for m in messages %}{{ m.content }}{% endfor %}");
    const auto refused = [&](const Template &of, const Wanted &wanted, ggufx_status status,
                             const char *word) {
        ggufx_chat_prompt *out = nullptr;
        ggufx_error error = {};
        const ggufx_status got = make(&out, of, wanted, &error);
        CHECK(got == status && !out && strstr(error.message, word), "%d \"%s\" instead of %d (%s)",
              got, error.message, status, word);
        ggufx_chat_prompt_destroy(out);
    };
    refused(chat, {.choice = 3}, GGUFX_E_ARGUMENT, "tool_choice");
    refused(chat, {.flags = 4}, GGUFX_E_ARGUMENT, "flags");
    refused(chat, {.choice = GGUFX_TOOL_CHOICE_AUTO, .tool_name = "now"}, GGUFX_E_ARGUMENT,
            "tool_name");
    refused(chat, {.schema = kSchema}, GGUFX_E_ARGUMENT, "schema");
    refused(chat, {.tools = ""}, GGUFX_E_ARGUMENT, "tools");
    refused(chat, {.tool_name = "later"}, GGUFX_E_NOT_FOUND, "name");
    refused(chat, {.tools = R"([{"function":{"name":""}}])"}, GGUFX_E_MALFORMED, "tool 0");
    refused(chat, {.tool_name = "x", .tools = R"([{"name":"x","parameters":{"type":3}}])"},
            GGUFX_E_MALFORMED, "type");
    refused(plain, {}, GGUFX_E_UNSUPPORTED, "template");
    refused(chat, {.choice = GGUFX_TOOL_CHOICE_AUTO, .schema = "{\"type\":"}, GGUFX_E_MALFORMED,
            "");
    // A chat prompt and another prompt, a grammar, or another tokenizer.
    const Ready ready(chat, {});
    Gen gen(g.session, g.n_vocab, mode_of(1));
    ggufx_prompt prompt = {};
    prompt.struct_size = sizeof prompt;
    prompt.chat = ready.handle;
    prompt.text = text_of("x");
    ggufx_error error = {};
    CHECK(gen.set(prompt, &error) == GGUFX_E_ARGUMENT, "%s", error.message);
    prompt.text = {};
    prompt.flags = GGUFX_PROMPT_APPEND;
    CHECK(gen.set(prompt, &error) == GGUFX_E_ARGUMENT, "%s", error.message);
    prompt.flags = 0;
    GeneratorMode mode = mode_of(1);
    mode.sequence = 1;
    mode.tokenizer = nullptr;
    Gen other(g.session, g.n_vocab, mode);
    CHECK(other.set(prompt, &error) == GGUFX_E_MISMATCH, "%s", error.message);
    must(gen.set(prompt, &error), error, "prompt");
    SnapshotFile file;
    CHECK(ggufx_generator_save(gen.handle(), SnapshotFile::write, &file, &error) ==
              GGUFX_E_UNSUPPORTED,
          "%s", error.message);
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 3) return 77;
    begin_in("");
    g.open(argv[1]);
    ggufx_error error;
    CrowdMode mode = {.n_sequences = 2, .n_context = kContext};
    mode.matmul_flags = 0;
    g.session = make_session(g.model, mode, &error);
    const Json forms = json_file(argv[2]);
    test_forms(forms);
    test_same_bits(forms);
    test_reasoning();
    test_budget();
    test_schema_or_call(forms);
    test_one_call(forms);
    test_grammars_of_the_host(forms);
    test_errors(forms);
    g.close();
    return end();
}
