// Tokenization of conversations. Control tokens and markers of the template in a user's text are
// tokenized as plain text. The vocabularies are of every kind, and merging in them produces such
// tokens. They are built here or in tests/vocabularies, or are those of ${GGUFX_TEST_DATA} if it
// exists. Conversations without special text have the ids of plain tokenization.
// usage: chat_tokens MADE/index.json
// SPDX-License-Identifier: MIT
#include "../text_of.h"
#include "counted_check.hpp"
#include "made_vocab.hpp"
#include "stored_json.hpp"

extern "C" {
#include "fault.h"
}

#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <fstream>
#include <iterator>

namespace {

int g_checks = 0, g_failed = 0;
ggufx_runtime *g_runtime;

std::string show(const Ids &ids) {
    std::string out;
    for (const int32_t id : ids) out += std::to_string(id) + " ";
    return out;
}

struct Made {
    ggufx_file *file = nullptr;
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_tokenizer_facts facts = {};
    ggufx_error error = {};
    ggufx_status status;
    explicit Made(const MadeVocab &vocab, const ggufx_runtime *rt = g_runtime) {
        const std::string bytes = vocab.bytes();
        ggufx_open_options options = {};
        options.struct_size = sizeof options;
        options.flags = GGUFX_OPEN_COPY;
        status = ggufx_open_memory(&file, rt, bytes.data(), bytes.size(), nullptr, nullptr,
                                   &options, &error);
        begin();
    }
    explicit Made(const std::string &path) {
        status = ggufx_open(&file, g_runtime, path.c_str(), nullptr, &error);
        begin();
    }
    void begin() {
        if (status == GGUFX_OK) status = ggufx_tokenizer_create(&tokenizer, file, &error);
        facts.struct_size = sizeof facts;
        if (tokenizer) ggufx_tokenizer_info(&facts, tokenizer, nullptr);
    }
    Made(const Made &) = delete;
    ~Made() {
        ggufx_tokenizer_destroy(tokenizer);
        ggufx_file_destroy(file);
    }
    Ids plain(const std::string &text, uint32_t flags) const {
        Ids ids(4 * text.size() + 16);
        size_t n = 0;
        if (ggufx_tokenize(ids.data(), ids.size(), &n, tokenizer, text.data(), text.size(), flags,
                           nullptr) != GGUFX_OK)
            n = 0;
        ids.resize(n);
        return ids;
    }
    ggufx_token_facts token(int32_t id) const {
        ggufx_token_facts out = {};
        out.struct_size = sizeof out;
        CHECK(ggufx_token_info(&out, tokenizer, id, nullptr) == GGUFX_OK, "id %d", id);
        return out;
    }
    std::string text(int32_t id) const {
        const ggufx_token_facts facts_of = token(id);
        return {facts_of.text.data, facts_of.text.size};
    }
};

struct Chat {
    ggufx_chat_template *chat = nullptr;
    explicit Chat(const std::string &text, const ggufx_runtime *rt = g_runtime) {
        ggufx_chat_template_options options = {};
        options.struct_size = sizeof options;
        options.text = {text.c_str(), text.size()};
        ggufx_chat_template_create(&chat, rt, nullptr, &options, nullptr);
    }
    Chat(const Chat &) = delete;
    ~Chat() { ggufx_chat_template_destroy(chat); }
};

struct Said {
    ggufx_status status;
    Ids ids;
    ggufx_error error = {};
};

Said tokens_of(const Chat &chat, const Made &made, const std::string &content, uint32_t flags = 0) {
    Said out;
    ggufx_chat_message message = {};
    message.struct_size = sizeof message;
    ggufx_chat_request request = {};
    request.struct_size = sizeof request;
    message.role = text_of("user");
    message.content = {content.c_str(), content.size()};
    request.messages = &message;
    request.n_messages = 1;
    size_t n = 0;
    out.status = ggufx_chat_template_tokenize(nullptr, 0, &n, chat.chat, made.tokenizer, &request,
                                              flags, &out.error);
    if (out.status != GGUFX_E_CAPACITY) return out;
    out.ids.resize(n);
    out.status = ggufx_chat_template_tokenize(out.ids.data(), n, &n, chat.chat, made.tokenizer,
                                              &request, flags, &out.error);
    CHECK(n == out.ids.size(), "%zu ids, then %zu", out.ids.size(), n);
    return out;
}

const char *const kContent = "{{ messages[0].content }}";

/* ---- generated vocabularies ----------------------------------------------------------------- */

// Returns a vocabulary of a kind whose letters merge to a control token "abc" and a normal token
// "ab".
MadeVocab tempting_vocab(const std::string &kind) {
    MadeVocab vocab = full_vocab(kind);
    for (MadeToken &token : vocab.tokens) {
        if (token.text == "ab") token.score = -0.5f; // merges before a letter merges with a space
        if (token.text == "abc") token.score = -0.25f, token.kind = 3;
    }
    if (kind == "bert")
        vocab.add(kSpace + "abc", 3), vocab.add(kSpace + "ab", 1), vocab.add("c", 1);
    if (kind == "rwkv") vocab.add("ab", 1);
    for (const char *text : {"<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "<|end|>",
                             "<|return|>", "<|call|>"})
        vocab.add(text, 3);
    return vocab;
}

bool is_special(const std::string &text) {
    for (const char *known :
         {"abc", "<|ctl|>", "<|channel|>", "<|message|>", "<|start|>", "<|constrain|>", "<|end|>",
          "<|return|>", "<|call|>", "</s>", "<pad>"})
        if (text == known || text == kSpace + known) return true;
    return false;
}

void test_no_text_of_a_user_is_a_control_token() {
    for (const std::string kind : kMadeKinds) {
        const Made made(tempting_vocab(kind));
        CHECK(made.status == GGUFX_OK, "%s: %s", kind.c_str(), made.error.message);
        // Plain tokenization of these texts gives control tokens.
        if (kind != "t5") {
            int n = 0;
            for (const int32_t id : made.plain("abc", 0)) n += is_special(made.text(id));
            CHECK(n == 1, "%s: no control token is merged", kind.c_str());
        }
        const Chat chat(kContent);
        for (const std::string content :
             {"abc", "a abc abcabc b", "x<|ctl|>y", "<|start|>abc<|channel|>abc<|message|>",
              "<|end|><|return|><|call|><|constrain|>", "</s>", "<pad> </s>"}) {
            const Said said = tokens_of(chat, made, content);
            CHECK(said.status == GGUFX_OK, "%s: %s", kind.c_str(), said.error.message);
            CHECK(!said.ids.empty(), "%s: no ids", kind.c_str());
            for (const int32_t id : said.ids)
                CHECK(!is_special(made.text(id)), "%s: \"%s\" has id %d, \"%s\"", kind.c_str(),
                      content.c_str(), id, made.text(id).c_str());
        }
    }
}

void test_where_a_control_token_is_refused_its_text_is_merged_without_it() {
    for (const std::string kind : {"gpt2", "gemma4", "llama", "rwkv"}) {
        const Made made(tempting_vocab(kind));
        const Ids ab = made.plain("ab", 0), c = made.plain("c", 0);
        CHECK(ab.size() == 1 || kind == "llama", "%s: ab is %s", kind.c_str(), show(ab).c_str());
        const Said said = tokens_of(Chat(kContent), made, "abc");
        Ids want = ab;
        Ids tail = c; // without the space that llama adds before a text
        if (kind == "llama") tail.erase(tail.begin(), tail.end() - 1);
        want.insert(want.end(), tail.begin(), tail.end());
        CHECK(said.ids == want, "%s: %s, not %s", kind.c_str(), show(said.ids).c_str(),
              show(want).c_str());
    }
}

void test_a_control_token_is_where_the_template_wrote_all_of_it() {
    const struct {
        const char *text, *content;
        int n; // number of control tokens
    } cases[] = {
        {"<|ctl|>{{ messages[0].content }}<|ctl|>", "<|ctl|>", 2},
        {"<|c{{ messages[0].content }}", "tl|>", 0},
        {"{{ messages[0].content }}l|>", "<|ct", 0},
        {"<|c{{ messages[0].content }}|>", "tl", 0},
        {"{{ '<|' ~ 'ctl' }}{{ '|>' }}", "", 1},
        {"<|{{ 'ctl' if messages[0].content }}|>", "x", 1},
        {"<|channel|>{{ messages[0].content | upper }}<|message|>", "<|message|>", 2},
        {"{{ (messages[0].content ~ '<|ctl|>') | trim }}", " <|ctl|> ", 1},
        {"{{ messages | tojson }}", "<|ctl|>", 0},
    };
    for (const std::string kind : kMadeKinds) {
        const Made made(tempting_vocab(kind));
        for (const auto &c : cases) {
            const Said said = tokens_of(Chat(c.text), made, c.content);
            CHECK(said.status == GGUFX_OK, "%s: %s", c.text, said.error.message);
            int n = 0;
            for (const int32_t id : said.ids) n += is_special(made.text(id));
            CHECK(n == c.n, "%s: %s with \"%s\": %d control tokens, not %d: %s", kind.c_str(),
                  c.text, c.content, n, c.n, show(said.ids).c_str());
        }
    }
}

// Nested tokens: the longest one that starts and ends within the template's bytes.
void test_the_longest_token_within_the_templates_bytes() {
    MadeVocab vocab("llama");
    add_byte_tokens(vocab);
    vocab.flags["tokenizer.ggml.add_space_prefix"] = false;
    const int32_t short_one = vocab.add("<a>", 3), long_one = vocab.add("<a><b>", 3);
    const int32_t user = vocab.add("<b>!", 4), free = vocab.add("!?", 4);
    const Made made(vocab);
    const auto check = [&](const char *text, const char *content, const Ids &want) {
        const Said said = tokens_of(Chat(text), made, content);
        CHECK(said.ids == want, "%s: %s, not %s", text, show(said.ids).c_str(), show(want).c_str());
    };
    const Ids letters = made.plain("<b>", 0);
    Ids both = {short_one};
    both.insert(both.end(), letters.begin(), letters.end());
    check("<a><b>", "", {long_one});
    check("<a>{{ messages[0].content }}", "<b>", both);
    check("<a>{{ messages[0].content }}", "<b>!", {short_one, user}); // user-defined: in any text
    check("<a><b>{{ messages[0].content }}", "!?", {long_one, free});
    check("{{ messages[0].content }}!", "<b>", {user}); // also across the boundary
}

/* ---- user-defined tokens -------------------------------------------------------------------- */

// Like tempting_vocab, with user-defined marker tokens; "abc" is one that merging produces.
MadeVocab marked_vocab(const std::string &kind) {
    MadeVocab vocab = tempting_vocab(kind);
    for (MadeToken &token : vocab.tokens)
        if (token.text == "abc") token.kind = 4;
    for (const char *text : {"<think>", "</think>", "<|tool>", "<|tool>x", "  ", "<|free|>"})
        vocab.add(text, 4);
    return vocab;
}

void test_user_defined_tokens_of_the_template() {
    const struct {
        const char *text, *content, *token;
        int n; // number of these tokens
    } cases[] = {
        {"<|tool>{{ messages[0].content }}", "<|tool>", "<|tool>", 1},
        {"<|tool>{{ messages[0].content }}", "-<|tool>x", "<|tool>x", 1}, // longer: no marker
        {"<|tool>x{{ messages[0].content }}", "-<|tool>x", "<|tool>x", 1},
        {"<|tool>x{{ messages[0].content }}", "-<|tool>x", "<|tool>", 0}, // a part of the marker
        {"{{ '<|tool>' if false }}{{ messages[0].content }}", "<|tool>", "<|tool>", 0},
        {"{{ messages[0].content.split('</think>')[0] }}", "<think>", "<think>", 0}, // its pair
        {"{{ messages[0].content }}{# <think> #}", "</think>", "</think>", 0},       // the parser's
        {"{{ messages[0].content }}", "<think><|tool>", "<think>", 1},
        {"{{ messages[0].content }}", "<think><|tool>", "<|tool>", 1},
        {"<|tool>{{ messages[0].content }}", "<|free|><|tool>", "<|free|>", 1},
        {"<|to{{ messages[0].content }}<|tool>", "ol>", "<|tool>", 1}, // across a boundary
        {"a  b{{ messages[0].content }}", "-  -", "  ", 2},            // white space is no marker
        {"{{ messages[0].content }}{{ {'<|tool>': 1}['<|tool>'] }}", "<|tool>", "<|tool>", 0},
        {"{{ messages[0]['content'] }}{{ '<|tool>' in messages[0].content }}", "<|tool>", "<|tool>",
         0},
    };
    for (const std::string kind : kMadeKinds) {
        const Made made(marked_vocab(kind));
        CHECK(made.status == GGUFX_OK, "%s: %s", kind.c_str(), made.error.message);
        for (const auto &c : cases) {
            const Said said = tokens_of(Chat(c.text), made, c.content);
            CHECK(said.status == GGUFX_OK, "%s: %s", c.text, said.error.message);
            const auto n = std::count_if(said.ids.begin(), said.ids.end(),
                                         [&](int32_t id) { return made.text(id) == c.token; });
            CHECK(n == c.n, "%s: %s with \"%s\": %d times \"%s\", not %d: %s", kind.c_str(), c.text,
                  c.content, static_cast<int>(n), c.token, c.n, show(said.ids).c_str());
        }
        // Merging does not produce a marker, either.
        const Chat chat("abc<|start|>{{ messages[0].content }}");
        const Said said = tokens_of(chat, made, "abc aabc abcabc");
        const auto n = std::count_if(said.ids.begin(), said.ids.end(),
                                     [&](int32_t id) { return made.text(id) == "abc"; });
        CHECK(n == 1, "%s: %d times abc: %s", kind.c_str(), static_cast<int>(n),
              show(said.ids).c_str());
    }
}

void test_bos_stands_in_front_once() {
    MadeVocab vocab = full_vocab("llama");
    const int32_t bos = vocab.add("<s>", 3);
    vocab.keys["tokenizer.ggml.bos_token_id"] = static_cast<uint32_t>(bos);
    vocab.flags["tokenizer.ggml.add_bos_token"] = true;
    vocab.flags["tokenizer.ggml.add_eos_token"] = true;
    const Made made(vocab);
    const auto count = [&](const char *text, uint32_t flags) {
        const Said said = tokens_of(Chat(text), made, "a<s>", flags);
        const auto n = std::count(said.ids.begin(), said.ids.end(), bos);
        CHECK(n == 0 || said.ids[0] == bos, "%s", show(said.ids).c_str());
        return n;
    };
    CHECK(count(kContent, 0) == 0, "added without the flag");
    CHECK(count(kContent, GGUFX_TOKENIZE_ADD_SPECIAL) == 1, "not added");
    CHECK(count("<s>{{ messages[0].content }}", GGUFX_TOKENIZE_ADD_SPECIAL) == 1, "not once");
    CHECK(count("<s>{{ messages[0].content }}", 0) == 1, "the template's");
    const Said empty = tokens_of(Chat(""), made, "", GGUFX_TOKENIZE_ADD_SPECIAL);
    CHECK(empty.ids == Ids{bos}, "%s", show(empty.ids).c_str());
}

void test_what_is_refused() {
    const Made made(full_vocab("llama"));
    const Chat chat(kContent);
    ggufx_chat_request request = {};
    request.struct_size = sizeof request;
    int32_t id = 7;
    size_t n = 9;
    const auto status = [&](size_t *needed, const ggufx_chat_template *c, const ggufx_tokenizer *t,
                            const ggufx_chat_request *r, uint32_t flags) {
        return ggufx_chat_template_tokenize(&id, 1, needed, c, t, r, flags, nullptr);
    };
    CHECK(status(nullptr, chat.chat, made.tokenizer, &request, 0) == GGUFX_E_ARGUMENT, "needed");
    CHECK(status(&n, nullptr, made.tokenizer, &request, 0) == GGUFX_E_ARGUMENT, "chat");
    CHECK(status(&n, chat.chat, nullptr, &request, 0) == GGUFX_E_ARGUMENT, "tokenizer");
    CHECK(status(&n, chat.chat, made.tokenizer, nullptr, 0) == GGUFX_E_ARGUMENT, "request");
    CHECK(status(&n, chat.chat, made.tokenizer, &request, 2) == GGUFX_E_ARGUMENT, "flags");
    CHECK(status(&n, chat.chat, made.tokenizer, &request, 0) == GGUFX_E_VALUE, "no message");
    CHECK(id == 7 && n == 9, "a call that failed wrote");
    MadeVocab none("none");
    none.keys["llama.vocab_size"] = 8;
    const Made ids_only(none);
    CHECK(tokens_of(chat, ids_only, "a").status == GGUFX_E_UNSUPPORTED, "a file without texts");
    // A byte that only a control token has.
    MadeVocab poor("gpt2");
    poor.pre = "gpt-2";
    poor.add("a", 3);
    poor.add("b", 1);
    const Made one(poor);
    const Said said = tokens_of(chat, one, "ba");
    CHECK(said.status == GGUFX_E_VOCAB, "%s", ggufx_status_name(said.status));
    CHECK(tokens_of(chat, one, "bb").status == GGUFX_OK, "bb");
}

ggufx_status use(void *context, ggufx_runtime *rt, ggufx_error *error) {
    const Made made(*static_cast<const MadeVocab *>(context), rt);
    *error = made.error;
    if (made.status != GGUFX_OK) return made.status;
    ggufx_chat_template_options options;
    ggufx_chat_template *chat = nullptr;
    options = {};
    options.struct_size = sizeof options;
    options.text = text_of("<|ctl|><|tool>{{ messages[0].content }} <|end|><think>");
    ggufx_status status = ggufx_chat_template_create(&chat, rt, nullptr, &options, error);
    if (status != GGUFX_OK) return status;
    ggufx_chat_request request = {};
    request.struct_size = sizeof request;
    request.messages_json = text_of(
        R"([{"content":"abc abcabc <|ctl|> <|tool> <think> aaaaaaaaaaaaaaaaaaaaaaaaaaa"}])");
    int32_t ids[256];
    size_t n = 0;
    status = ggufx_chat_template_tokenize(ids, 256, &n, chat, made.tokenizer, &request,
                                          GGUFX_TOKENIZE_ADD_SPECIAL, error);
    ggufx_chat_template_destroy(chat);
    return status;
}

// The hook of a request is also polled while its text becomes tokens, between messages.
void test_a_progress_hook_ends_the_tokenization() {
    struct Polls {
        uint64_t n, cancel_at;
    };
    const auto report = [](void *user, uint64_t, uint64_t) -> int32_t {
        auto *polls = static_cast<Polls *>(user);
        return ++polls->n == polls->cancel_at;
    };
    const Made made(tempting_vocab("llama"));
    // A cheap template, so that most polls are those of the tokenizer.
    std::string text = "{{ messages[0].content }}";
    for (int i = 0; i < 2000; i++) text += "<|start|>some words to be merged, one after another";
    const Chat chat(text);
    ggufx_chat_message message = {};
    message.struct_size = sizeof message;
    message.role = {message.content.data = "user", message.content.size = 4};
    const auto run = [&](Polls &polls, bool tokenizes) {
        ggufx_progress progress = {};
        progress.user = &polls;
        progress.report = report;
        ggufx_chat_request request = {};
        request.struct_size = sizeof request;
        request.messages = &message;
        request.n_messages = 1;
        request.progress = &progress;
        size_t n = 0;
        if (!tokenizes)
            return ggufx_chat_template_render(nullptr, 0, &n, chat.chat, &request, nullptr);
        return ggufx_chat_template_tokenize(nullptr, 0, &n, chat.chat, made.tokenizer, &request, 0,
                                            nullptr);
    };
    Polls render = {}, all = {};
    CHECK(run(render, false) == GGUFX_E_CAPACITY, "rendered");
    CHECK(run(all, true) == GGUFX_E_CAPACITY, "tokenized");
    CHECK(all.n > render.n + 10, "%d polls, %d of them by the template", static_cast<int>(all.n),
          static_cast<int>(render.n));
    for (uint64_t at = 1; at <= all.n; at++) {
        Polls some = {0, at};
        const ggufx_status status = run(some, true);
        CHECK(status == GGUFX_E_CANCELLED && some.n == at, "poll %d of %d: %s",
              static_cast<int>(some.n), static_cast<int>(at), ggufx_status_name(status));
    }
}

void test_each_failing_allocation() {
    for (const char *kind : kMadeKinds) {
        MadeVocab vocab = marked_vocab(kind);
        const long n = fault_run(use, &vocab);
        CHECK(n > 12, "%s: %ld allocations", kind, n);
    }
}

/* ---- vocabularies of models ----------------------------------------------------------------- */

std::string from_hex(const std::string &hex) {
    std::string out;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        out.push_back(static_cast<char>(strtol(hex.substr(i, 2).c_str(), nullptr, 16)));
    return out;
}

bool steers(const Made &made, int32_t id) {
    const ggufx_token_facts facts = made.token(id);
    const std::string text(facts.text.data, facts.text.size);
    const bool shown = text.rfind("<|", 0) == 0 && is_special(text); // markers of gpt-oss
    return (facts.flags & GGUFX_TOKEN_CONTROL) != 0 || shown;
}

// All special texts together and alone; then written by the template itself.
void test_specials(const std::string &path) {
    const Made made(path);
    CHECK(made.status == GGUFX_OK, "%s: %s", path.c_str(), made.error.message);
    const Chat chat(kContent);
    std::string all;
    int n = 0;
    const auto check = [&](const std::string &content) {
        const Said said = tokens_of(chat, made, content);
        CHECK(said.status == GGUFX_OK, "%s: %s", path.c_str(), said.error.message);
        for (const int32_t id : said.ids)
            CHECK(!steers(made, id) || id == made.facts.unknown, "%s: id %d \"%s\" in \"%.40s\"",
                  path.c_str(), id, made.text(id).c_str(), content.c_str());
    };
    for (uint32_t i = 0; i < made.facts.n_tokens; i++) {
        const auto id = static_cast<int32_t>(i);
        const bool unknown = (made.token(id).flags & GGUFX_TOKEN_UNKNOWN) != 0;
        if (!steers(made, id) && !unknown) continue;
        const std::string text = made.text(id);
        if (text.empty()) continue;
        all += text + (n % 3 ? "" : " x ");
        if (++n > 400) continue;
        check(text);
        check(" " + text + text + "\n");
        if (text.find('{') != std::string::npos || unknown || id == made.facts.unknown) continue;
        const Said said = tokens_of(Chat(text + kContent), made, text);
        const auto n_steering = std::count_if(said.ids.begin(), said.ids.end(), [&](int32_t k) {
            return steers(made, k) && k != made.facts.unknown;
        });
        CHECK(n_steering == 1 && said.ids[0] == made.plain(text, 2).at(0),
              "%s: \"%s\" of the template: %s", path.c_str(), text.c_str(), show(said.ids).c_str());
    }
    CHECK(n > 0, "%s has no control tokens", path.c_str());
    check(all);
}

// Each user-defined token is a marker of a template that writes it, and of no other template.
int test_marks(const std::string &path) {
    const Made made(path);
    const Chat plain(kContent);
    int n = 0;
    for (uint32_t i = 0; i < made.facts.n_tokens && n < 300; i++) {
        const auto id = static_cast<int32_t>(i);
        const std::string text = made.text(id);
        const bool user =
            (made.token(id).flags & GGUFX_TOKEN_USER_DEFINED) != 0 && !steers(made, id);
        if (!user || made.plain(text, 0) != Ids{id}) continue;
        if (text.find('{') != std::string::npos) continue; // template syntax
        const Said free = tokens_of(plain, made, text);
        if (free.status == GGUFX_E_MALFORMED) continue; // invalid UTF-8
        CHECK(free.ids == Ids{id}, "%s: \"%s\" of a user: %s", path.c_str(), text.c_str(),
              show(free.ids).c_str());
        const Said said = tokens_of(Chat(text + "|" + kContent), made, "-" + text + "-");
        const bool white = text.find_first_not_of(" \t\n\r\v\f") == std::string::npos;
        const auto n_characters = std::count_if(text.begin(), text.end(), [](char c) {
            return (static_cast<uint8_t>(c) & 0xc0) != 0x80;
        });
        const auto times = std::count(said.ids.begin(), said.ids.end(), id);
        const bool mark = !white && n_characters > 1 && text.find(kSpace) == std::string::npos;
        if (text.find(kSpace) != std::string::npos) continue; // either white space or a marker
        n += mark;
        CHECK(times == (mark ? 1 : 2), "%s: \"%s\" %d times: %s", path.c_str(), text.c_str(),
              static_cast<int>(times), show(said.ids).c_str());
    }
    return n;
}

// Texts without the text of a control token have the ids of plain tokenization.
int test_plain(const std::string &path, const std::string &cases) {
    const Made made(path);
    const Chat chat(kContent);
    const Json oracle = json_file(cases);
    int n = 0;
    for (const Json &c : oracle.at("cases").elements()) {
        const std::string text_hex = text_at(c, "text_hex"), text = from_hex(text_hex);
        const Ids want = made.plain(text, 0);
        const auto bad = [&](int32_t id) { // its text occurs
            return steers(made, id) &&
                   (id != made.facts.unknown || text.find(made.text(id)) != std::string::npos);
        };
        if (text.empty() || std::any_of(want.begin(), want.end(), bad)) continue;
        if (want != made.plain(text, GGUFX_TOKENIZE_PARSE_SPECIAL)) continue;
        const Said said = tokens_of(chat, made, text);
        if (said.status == GGUFX_E_MALFORMED) continue; // invalid UTF-8
        n++;
        CHECK(said.ids == want, "%s: %s: %s, not %s", cases.c_str(), text_hex.c_str(),
              show(said.ids).c_str(), show(want).c_str());
    }
    return n;
}

// Returns the number of user-defined tokens.
int test_vocabulary(const std::string &file, const std::string &cases) {
    test_specials(file);
    const int n = test_plain(file, cases);
    CHECK(n >= 20, "%s: only %d texts", cases.c_str(), n);
    return test_marks(file);
}

void test_vocabularies(const std::string &root) {
    const struct {
        const char *file, *cases;
    } rows[] = {
        {"vocab/ggml-vocab-llama-spm.gguf", "tokenizer-oracle/public/llama-spm.json"},
        {"vocab/ggml-vocab-phi-3.gguf", "tokenizer-oracle/public/phi-3.json"},
        {"stories260K/stories260K-f32.gguf", "tokenizer-oracle/public/tok512-spm.json"},
        {"vocab/ggml-vocab-gpt-2.gguf", "tokenizer-oracle/public/gpt-2.json"},
        {"vocab/ggml-vocab-deepseek-llm.gguf", "tokenizer-oracle/public/deepseek-llm.json"},
        {"tiny/tiny-qwen2-f16.gguf", "tokenizer-oracle/public/bpe1k-qwen2.json"},
        {"tiny/tiny-llama3-f16.gguf", "tokenizer-oracle/public/bpe1k-llama3.json"},
        {"vocab/ggml-vocab-bert-bge.gguf", "tokenizer-oracle/public/bert-bge.json"},
        {"tokenizer/vocab-gemma4-bpe.gguf", "tokenizer/gemma4-bpe-public.json"},
        {"tokenizer/vocab-rwkv.gguf", "tokenizer/rwkv-public.json"},
        {"tokenizer/vocab-ugm-t5.gguf", "tokenizer/ugm-t5-public.json"},
        {"tokenizer/vocab-ugm-xlmr.gguf", "tokenizer/ugm-xlmr-public.json"},
    };
    int n_marks = 0;
    for (const auto &row : rows) n_marks += test_vocabulary(root + row.file, root + row.cases);
    CHECK(n_marks >= 20, "only %d user-defined tokens", n_marks);
}

void test_made_vocabularies(const std::string &index) {
    const std::string folder = index.substr(0, index.rfind('/') + 1);
    int n_marks = 0;
    const Json made = json_file(index);
    for (const Json &name : made.at("names").elements())
        n_marks +=
            test_vocabulary(folder + *name.text() + ".gguf", folder + *name.text() + ".json");
    CHECK(n_marks >= 38, "only %d user-defined tokens", n_marks);
}

} // namespace

// INDEX.JSON of tests/vocabularies, or "stored": the vocabularies of GGUFX_TEST_DATA.
int main(int argc, char **argv) {
    if (argc != 2) return 2;
    const char *const data = getenv("GGUFX_TEST_DATA");
    const std::string root = std::string(data ? data : "") + "/data/", what = argv[1];
    if (what == "stored" && !std::ifstream(root + "vocab/ggml-vocab-phi-3.gguf")) {
        printf("skipped: no %svocab (GGUFX_TEST_DATA)\n", root.c_str());
        return 77;
    }
    if (ggufx_runtime_create(&g_runtime, nullptr, nullptr) != GGUFX_OK) return 1;
    if (what == "stored") {
        test_vocabularies(root);
    } else {
        test_no_text_of_a_user_is_a_control_token();
        test_where_a_control_token_is_refused_its_text_is_merged_without_it();
        test_a_control_token_is_where_the_template_wrote_all_of_it();
        test_the_longest_token_within_the_templates_bytes();
        test_user_defined_tokens_of_the_template();
        test_bos_stands_in_front_once();
        test_what_is_refused();
        test_a_progress_hook_ends_the_tokenization();
        test_each_failing_allocation();
        test_made_vocabularies(what);
    }
    ggufx_runtime_destroy(g_runtime);
    printf("%d checks, %d failed\n", g_checks, g_failed);
    return g_failed != 0;
}
