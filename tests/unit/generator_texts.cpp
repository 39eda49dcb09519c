// Texts of generators. A sampler of the test draws given ids; the events must say what the
// detokenizer, a plain search for stop strings and the output parser say of them. Grammars,
// log-probabilities and ends are compared with a loop over the low-level functions.
// usage: generator_texts MODEL
// SPDX-License-Identifier: MIT
#include "../parser_events.h"
#include "generator_calls.hpp"

#include <algorithm>
#include <thread>

namespace {

constexpr uint32_t kContext = 256;

DemoModel g;

// Draws given ids, whatever the logits are.
struct Script {
    Ids ids;
    size_t at = 0;
    static ggufx_status choose(void *user, ggufx_candidate *candidates, size_t n) {
        Script &self = *static_cast<Script *>(user);
        const int32_t id = self.at < self.ids.size() ? self.ids[self.at++] : g.eos;
        for (size_t i = 0; i < n; i++)
            candidates[i].logit = candidates[i].id == id ? 1.0f : -__builtin_inff();
        return GGUFX_OK;
    }
};

GeneratorMode mode_of(const ggufx_sampler *sampler, uint32_t flags = 0) {
    return {.flags = flags, .max_tokens = 0, .tokenizer = g.tokenizer, .sampler = sampler};
}

uint32_t flags_of(int32_t id) {
    ggufx_token_facts facts = {};
    facts.struct_size = sizeof facts;
    ggufx_error error;
    must(ggufx_token_info(&facts, g.tokenizer, id, &error), error, "token");
    return facts.flags;
}

bool is_special(int32_t id) {
    return (flags_of(id) & (GGUFX_TOKEN_CONTROL | GGUFX_TOKEN_UNKNOWN | GGUFX_TOKEN_EOG)) != 0;
}

// ---- the same by hand

// The bytes of a token after others, control tokens included.
std::string piece(ggufx_detokenizer_state &state, const int32_t *id) {
    char text[512];
    size_t n = 0;
    ggufx_error error;
    const uint32_t flags = GGUFX_DETOKENIZE_KEEP_SPECIAL | GGUFX_DETOKENIZE_KEEP_SPACE |
                           (id ? 0 : GGUFX_DETOKENIZE_FLUSH);
    state.flags = flags;
    must(
        ggufx_detokenize_stream(text, sizeof text, &n, &state, g.tokenizer, id, id ? 1 : 0, &error),
        error, "detokenize");
    return {text, n};
}

// Repairs UTF-8 with the parser of outputs, which has no markers.
std::string repaired(const std::string &bytes) {
    std::string out;
    ggufx_chat_parser_options options;
    options = {};
    options.struct_size = sizeof options;
    ggufx_chat_parser *parser = nullptr;
    ggufx_error error;
    must(ggufx_chat_parser_create(&parser, g_runtime, &options, &error), error, "parser");
    must(ggufx_chat_parser_feed(parser, bytes.data(), bytes.size(), &error), error, "feed");
    must(ggufx_chat_parser_finish(parser, &error), error, "finish");
    for (ggufx_event event; next_event(&event, parser);)
        out.append(event.text.data, event.text.size);
    ggufx_chat_parser_destroy(parser);
    return out;
}

struct Wanted {
    std::string text;
    uint32_t end = GGUFX_END_EOG, stop = 0;
    size_t n_tokens = 0; // the last one included
};

Wanted by_hand(const Ids &ids, const std::vector<std::string> &stops, uint32_t flags) {
    Wanted out;
    std::string raw;
    std::vector<bool> hidden; // for each byte
    ggufx_detokenizer_state state = {};
    size_t cut = std::string::npos;
    for (const int32_t id : ids) {
        out.n_tokens++;
        if ((flags_of(id) & GGUFX_TOKEN_EOG) && !(flags & GGUFX_GENERATOR_IGNORE_EOG)) break;
        const size_t before = raw.size();
        raw += piece(state, &id);
        hidden.resize(raw.size(), false);
        if (is_special(id) && !(flags & GGUFX_GENERATOR_SPECIAL_TOKENS)) {
            ggufx_detokenizer_state fresh = {};
            const size_t own = piece(fresh, &id).size();
            std::fill(hidden.end() - static_cast<ptrdiff_t>(std::min(own, raw.size() - before)),
                      hidden.end(), true);
        }
        size_t first_end = std::string::npos;
        for (size_t i = 0; i < stops.size(); i++) {
            const size_t from = before > stops[i].size() ? before - stops[i].size() : 0;
            const size_t at = raw.find(stops[i], from);
            if (at == std::string::npos) continue;
            const size_t end = at + stops[i].size();
            if (end < first_end || (end == first_end && stops[i].size() > stops[out.stop].size())) {
                first_end = end;
                cut = at;
                out.stop = static_cast<uint32_t>(i);
            }
        }
        if (cut != std::string::npos) break;
    }
    if (cut != std::string::npos) {
        out.end = GGUFX_END_STOP;
        while (cut > 0 && hidden[cut] && hidden[cut - 1]) cut--; // within a hidden token
        raw.resize(cut);
    } else {
        raw += piece(state, nullptr);
        hidden.resize(raw.size(), false);
    }
    std::string visible;
    for (size_t i = 0; i < raw.size(); i++)
        if (!hidden[i]) visible += raw[i];
    out.text = repaired(visible);
    return out;
}

// ---- texts

Ids random_script(Random &random, bool special) {
    Ids out;
    const size_t n = 3 + random.below(24);
    while (out.size() < n) {
        const auto id = static_cast<int32_t>(
            random.below(3) ? random.below(g.n_vocab) : random.below(std::min(300u, g.n_vocab)));
        if (special || !is_special(id)) out.push_back(id);
    }
    return out;
}

std::vector<std::string> random_stops(Random &random, const Ids &script) {
    std::string all;
    ggufx_detokenizer_state state = {};
    for (const int32_t id : script) all += piece(state, &id);
    std::vector<std::string> out;
    for (size_t n = random.below(4); n > 0 && all.size() > 8; n--) {
        const size_t at = all.size() / 3 + random.below(all.size() / 2);
        std::string stop = all.substr(at, 1 + random.below(7));
        if (random.below(3) == 0) stop += "zq"; // begins, but does not end
        if (!stop.empty()) out.push_back(stop);
    }
    return out;
}

void check_script(const Ids &script, const std::vector<std::string> &stops, uint32_t flags) {
    Script given = {script};
    const OwnedSampler sampler = chain_of(given, g.n_vocab);
    GeneratorMode mode = mode_of(sampler.get(), flags);
    mode.stops = stops;
    const Wanted wanted = by_hand(script, stops, flags);
    Gen one(g.session, g.n_vocab, mode);
    one.prompt("Once");
    ggufx_event event = {};
    event.struct_size = sizeof event;
    ggufx_error error;
    uint32_t index = 0;
    while (!one.end()) {
        must(ggufx_generator_next(&event, one.handle(), nullptr, &error), error, "next");
        one.take(event);
        index = event.index;
        CHECK(event.kind != GGUFX_EVENT_TEXT || event.text.size > 0, "an empty text");
    }
    CHECK(one.text() == wanted.text, "script %s:\n\"%s\" instead of\n\"%s\"", show(script).c_str(),
          one.text().c_str(), wanted.text.c_str());
    CHECK(one.end() == wanted.end && (wanted.end != GGUFX_END_STOP || index == wanted.stop),
          "script %s: end %u %u instead of %u %u", show(script).c_str(), one.end(), index,
          wanted.end, wanted.stop);
    CHECK(one.facts().n_tokens ==
              wanted.n_tokens + (wanted.end == GGUFX_END_EOG && wanted.n_tokens == script.size() &&
                                 (script.empty() || !(flags_of(script.back()) & GGUFX_TOKEN_EOG))),
          "script %s: %zu tokens instead of %zu", show(script).c_str(),
          static_cast<size_t>(one.facts().n_tokens), wanted.n_tokens);
}

void test_texts() {
    Random random = {3};
    size_t n_stopped = 0;
    for (int i = 0; i < 400; i++) {
        const Ids script = random_script(random, i % 2);
        const auto stops = random_stops(random, script);
        const uint32_t flags = i % 3 == 0 ? uint32_t{GGUFX_GENERATOR_SPECIAL_TOKENS} : 0;
        check_script(script, stops, flags);
        n_stopped += by_hand(script, stops, flags).end == GGUFX_END_STOP;
    }
    CHECK(n_stopped > 50 && n_stopped < 390, "%zu scripts stopped", n_stopped);
}

void test_ends() {
    const Ids words = tokenize(g.tokenizer, " a dog and a cat", 0);
    Ids ended = words;
    ended.push_back(g.eos);
    ended.insert(ended.end(), words.begin(), words.end());
    Script given = {ended};
    OwnedSampler sampler = chain_of(given, g.n_vocab);
    {
        Gen one(g.session, g.n_vocab, mode_of(sampler.get()));
        one.prompt("Once");
        (void)one.run();
        CHECK(one.end() == GGUFX_END_EOG && one.facts().n_tokens == words.size() + 1, "end %u: %s",
              one.end(), one.told().c_str());
        CHECK(one.told().find(std::to_string(g.eos) + ":") != std::string::npos,
              "END lacks the token: %s", one.told().c_str());
        const std::string text = one.text();
        // The end comes again.
        ggufx_event event = {};
        event.struct_size = sizeof event;
        ggufx_error error;
        must(ggufx_generator_next(&event, one.handle(), nullptr, &error), error, "next");
        CHECK(event.kind == GGUFX_EVENT_END && event.end == GGUFX_END_EOG, "no end again");
        must(ggufx_generator_poll(&event, one.handle(), &error), error, "poll");
        CHECK(event.kind == GGUFX_EVENT_NONE, "an event after the end");
    }
    given.at = 0;
    {
        GeneratorMode mode = mode_of(sampler.get(), GGUFX_GENERATOR_IGNORE_EOG);
        mode.max_tokens = static_cast<uint32_t>(ended.size());
        Gen one(g.session, g.n_vocab, mode);
        one.prompt("Once");
        (void)one.run();
        CHECK(one.end() == GGUFX_END_LENGTH && one.facts().n_tokens == ended.size(), "end %u",
              one.end());
    }
    given = {Ids(kContext, words[0])};
    sampler = chain_of(given, g.n_vocab);
    {
        Gen one(g.session, g.n_vocab, mode_of(sampler.get()));
        one.prompt("Once");
        (void)one.run();
        CHECK(one.end() == GGUFX_END_CONTEXT && one.tokens().size() == kContext + 1,
              "end %u after %zu tokens", one.end(), one.tokens().size());
    }
}

// Cancelled by another thread while it is computed: the step ends, with nothing of it.
void test_cancel() {
    Script given = {tokenize(g.tokenizer, " a dog", 0)};
    const OwnedSampler sampler = chain_of(given, g.n_vocab);
    Gen one(g.session, g.n_vocab, mode_of(sampler.get()));
    one.prompt("Once");
    ggufx_progress progress = {};
    progress.user = &one;
    progress.report = [](void *user, uint64_t, uint64_t) -> int32_t {
        std::thread([=] { ggufx_generator_cancel(static_cast<Gen *>(user)->handle()); }).join();
        return 0;
    };
    ggufx_step_options options = {};
    options.struct_size = sizeof options;
    options.progress = &progress;
    (void)one.run(&options);
    CHECK(one.end() == GGUFX_END_CANCELLED && one.facts().n_tokens == 0 && given.at == 0,
          "end %u after %zu tokens", one.end(), static_cast<size_t>(one.facts().n_tokens));
    one.forget();
    one.prompt("Once"); // begins again
    (void)one.run();
    CHECK(one.end() == GGUFX_END_EOG, "end %u", one.end());
}

// ---- log-probabilities and grammars, with real logits

// Generates token by token with the low-level functions, in the modes of a generator.
struct Loop {
    ggufx_session *session;
    std::vector<float> logits;
    explicit Loop(const Ids &prompt) {
        ggufx_error error;
        session = make_session(g.model, {.n_context = kContext, .matmul_flags = 0}, &error);
        feed(prompt, GGUFX_MATMUL_TILED);
    }
    ~Loop() { ggufx_session_destroy(session); }
    Loop(const Loop &) = delete;
    void feed(const Ids &ids, uint32_t flags) {
        Call call;
        call.flags = flags;
        call.items.push_back(make_item(0, GGUFX_DECODE_ALL_LOGITS, ids.data(), ids.size()));
        ggufx_error error;
        must(call.run(session, facts_of(g.model), nullptr, &error), error, "decode");
        logits = call.logits;
    }
    float logprob(size_t row, int32_t id) const {
        float out = 0;
        ggufx_error error;
        must(ggufx_logprobs(nullptr, &out, 1, g_runtime, logits.data() + row * g.n_vocab, g.n_vocab,
                            &id, &error),
             error, "logprobs");
        return out;
    }
    const float *last() const { return logits.data() + logits.size() - g.n_vocab; }
};

void test_logprobs() {
    const Ids prompt = tokenize(g.tokenizer, "Once upon a time", GGUFX_TOKENIZE_ADD_SPECIAL);
    GeneratorMode mode = {.flags = GGUFX_GENERATOR_SCORE_PROMPT, .max_tokens = 9, .n_logprobs = 2};
    Gen one(g.session, g.n_vocab, mode);
    one.prompt(prompt);
    Loop loop(prompt);
    ggufx_event event = {};
    event.struct_size = sizeof event;
    ggufx_error error;
    Ids told;
    size_t n_scored = 0;
    for (;;) {
        must(ggufx_generator_next(&event, one.handle(), nullptr, &error), error, "next");
        if (event.kind == GGUFX_EVENT_PROMPT) {
            n_scored = event.n_tokens;
            for (size_t i = 1; i < event.n_tokens; i++)
                CHECK(event.tokens[i].id == prompt[i] && event.tokens[i].n_top == 2 &&
                          event.tokens[i].logprob == loop.logprob(i - 1, prompt[i]),
                      "token %zu of the prompt: %a", i,
                      static_cast<double>(event.tokens[i].logprob));
            continue;
        }
        for (size_t i = 0; i < event.n_tokens; i++) {
            const ggufx_event_token &token = event.tokens[i];
            int32_t ids[2];
            float logprobs[2], chosen = 0;
            must(ggufx_logprobs(ids, logprobs, 2, g_runtime, loop.last(), g.n_vocab, nullptr,
                                &error),
                 error, "logprobs");
            must(ggufx_logprobs(nullptr, &chosen, 1, g_runtime, loop.last(), g.n_vocab, &token.id,
                                &error),
                 error, "logprob");
            CHECK(token.logprob == chosen && token.n_top == 2 && token.top[0].id == ids[0] &&
                      token.top[1].id == ids[1] && token.top[0].logprob == logprobs[0] &&
                      token.top[1].logprob == logprobs[1] && token.id == ids[0],
                  "token %d: %a instead of %a", token.id, static_cast<double>(token.logprob),
                  static_cast<double>(chosen));
            told.push_back(token.id);
            loop.feed({token.id}, GGUFX_MATMUL_BATCH_INVARIANT);
        }
        if (event.kind == GGUFX_EVENT_END) break;
    }
    CHECK(n_scored == prompt.size() && told.size() == 9, "%zu scores, %zu tokens", n_scored,
          told.size());
}

void test_grammar() {
    const char schema[] = R"({"type":"object","properties":{"ok":{"type":"boolean"},)"
                          R"("n":{"type":"integer"}},"required":["ok","n"]})";
    ggufx_grammar_options options;
    options = {};
    options.struct_size = sizeof options;
    options.kind = GGUFX_GRAMMAR_JSON_SCHEMA;
    options.flags = GGUFX_GRAMMAR_COMPACT;
    options.text = text_of(schema);
    ggufx_grammar *grammar = nullptr;
    ggufx_matcher *matcher = nullptr;
    ggufx_error error;
    must(ggufx_grammar_create(&grammar, g_runtime, g.tokenizer, &options, &error), error,
         "grammar");
    must(ggufx_matcher_create(&matcher, grammar, &error), error, "matcher");
    const OwnedSampler by_loop = make_chain(g.n_vocab, 0.8f, 5);
    GeneratorMode mode = {.max_tokens = 40, .temperature = 0.8f, .seed = 5};
    mode.grammar = grammar;
    Gen one(g.session, g.n_vocab, mode);
    ggufx_grammar_destroy(grammar); // the generator keeps it
    const Ids prompt = tokenize(g.tokenizer, "The answer:", GGUFX_TOKENIZE_ADD_SPECIAL);
    one.prompt("The answer:");
    (void)one.run();
    Loop loop(prompt);
    must(ggufx_sampler_accept(by_loop.get(), prompt.data(), prompt.size(), &error), error,
         "accept");
    Ids wanted = prompt;
    for (int i = 0; i < 40 && wanted.back() != g.eos; i++) {
        int32_t id = 0;
        must(ggufx_sampler_sample(&id, nullptr, by_loop.get(), matcher, loop.last(), g.n_vocab,
                                  &error),
             error, "sample");
        must(ggufx_sampler_accept(by_loop.get(), &id, 1, &error), error, "accept");
        wanted.push_back(id);
        loop.feed({id}, GGUFX_MATMUL_BATCH_INVARIANT);
    }
    ggufx_matcher_destroy(matcher);
    CHECK(one.tokens() == wanted, "%s instead of %s", show(one.tokens()).c_str(),
          show(wanted).c_str());
    CHECK(one.text().find("{\"ok\":") == 0, "\"%s\"", one.text().c_str());
}

// Samplers that see the output alone: penalties leave the prompt out.
void test_sampler_of_the_output() {
    const Ids prompt =
        tokenize(g.tokenizer, "Once upon a time, a time", GGUFX_TOKENIZE_ADD_SPECIAL);
    size_t n_different = 0;
    Ids before;
    for (uint64_t i = 0; i < 16; i++) {
        const bool output_only = i % 2 == 1;
        const uint64_t seed = i / 2;
        GeneratorMode mode = {.flags = output_only ? uint32_t{GGUFX_GENERATOR_SAMPLE_OUTPUT} : 0,
                              .max_tokens = 20,
                              .temperature = 1.0f,
                              .seed = seed};
        Gen one(g.session, g.n_vocab, mode);
        one.prompt(prompt);
        (void)one.run();
        n_different += output_only && one.tokens() != before;
        before = one.tokens();
        const OwnedSampler by_loop = make_chain(g.n_vocab, 1.0f, seed);
        ggufx_error error;
        if (!output_only)
            must(ggufx_sampler_accept(by_loop.get(), prompt.data(), prompt.size(), &error), error,
                 "accept");
        Loop loop(prompt);
        Ids wanted = prompt;
        while (wanted.size() < prompt.size() + 20 && wanted.back() != g.eos) {
            int32_t id = 0;
            must(ggufx_sampler_sample(&id, nullptr, by_loop.get(), nullptr, loop.last(), g.n_vocab,
                                      &error),
                 error, "sample");
            must(ggufx_sampler_accept(by_loop.get(), &id, 1, &error), error, "accept");
            wanted.push_back(id);
            loop.feed({id}, GGUFX_MATMUL_BATCH_INVARIANT);
        }
        CHECK(one.tokens() == wanted, "output only %d: %s instead of %s", output_only,
              show(one.tokens()).c_str(), show(wanted).c_str());
        // The sampler is replayed after a truncation.
        must(ggufx_generator_truncate(one.handle(), prompt.size() + 6, &error), error, "truncate");
        one.forget();
        (void)one.run();
        CHECK(one.end() == GGUFX_END_LENGTH || one.end() == GGUFX_END_EOG, "end %u", one.end());
    }
    CHECK(n_different > 0, "the prompt makes no difference");
}

// Random numbers start again with a prompt, or go on as those of a sampler that is not reset.
void test_random_numbers_go_on() {
    const Ids prompt = tokenize(g.tokenizer, "Once", GGUFX_TOKENIZE_ADD_SPECIAL);
    ggufx_error error;
    for (const uint32_t flags : {0u, uint32_t{GGUFX_PROMPT_KEEP_RANDOM}}) {
        ggufx_sampler *chain = nullptr;
        must(ggufx_sampler_create(&chain, g_runtime, g.n_vocab, 3, &error), error, "chain");
        const OwnedSampler by_loop(chain);
        GeneratorMode mode = mode_of(chain);
        mode.max_tokens = 20;
        Gen one(g.session, g.n_vocab, mode);
        for (int round = 0; round < 3; round++) {
            ggufx_prompt given = {};
            given.struct_size = sizeof given;
            given.flags = flags;
            given.tokens = prompt.data();
            given.n_tokens = prompt.size();
            must(ggufx_generator_set_prompt(one.handle(), &given, &error), error, "prompt");
            one.forget();
            (void)one.run();
            if (!flags) must(ggufx_sampler_reset(chain, &error), error, "reset");
            Loop loop(prompt);
            Ids wanted = prompt;
            while (wanted.size() < prompt.size() + 20 && wanted.back() != g.eos) {
                int32_t id = 0;
                must(ggufx_sampler_sample(&id, nullptr, chain, nullptr, loop.last(), g.n_vocab,
                                          &error),
                     error, "sample");
                wanted.push_back(id);
                loop.feed({id}, GGUFX_MATMUL_BATCH_INVARIANT);
            }
            CHECK(one.tokens() == wanted, "flags %u, round %d: %s instead of %s", flags, round,
                  show(one.tokens()).c_str(), show(wanted).c_str());
        }
    }
}

// The sum of log-probabilities counts all tokens, also those of a stop string, which are not told.
void test_sum_of_logprobs() {
    const Ids words = tokenize(g.tokenizer, " a dog and a cat", 0);
    for (const bool stops : {false, true}) {
        Script given = {words};
        const OwnedSampler sampler = chain_of(given, g.n_vocab);
        GeneratorMode mode = mode_of(sampler.get(), GGUFX_GENERATOR_LOGPROBS);
        if (stops) mode.stops = {"and a"};
        Gen one(g.session, g.n_vocab, mode);
        const Ids prompt = tokenize(g.tokenizer, "Once", GGUFX_TOKENIZE_ADD_SPECIAL);
        one.prompt(prompt);
        (void)one.run();
        Loop loop(prompt);
        double wanted = 0;
        const Ids all = one.tokens();
        for (size_t i = prompt.size(); i < all.size(); i++) {
            wanted += static_cast<double>(
                loop.logprob(i == prompt.size() ? prompt.size() - 1 : 0, all[i]));
            loop.feed({all[i]}, GGUFX_MATMUL_BATCH_INVARIANT);
        }
        CHECK(one.facts().sum_logprobs == wanted && wanted < 0, "sum %a instead of %a",
              one.facts().sum_logprobs, wanted);
        CHECK(one.end() == (stops ? GGUFX_END_STOP : GGUFX_END_EOG), "end %u", one.end());
    }
}

// Items get the tokens that they ask for, if a batch has room for all of them.
void test_shares() {
    ggufx_error error;
    CrowdMode crowd = {.n_sequences = 3, .n_context = 64, .n_batch = 8};
    crowd.matmul_flags = 0;
    ggufx_session *const session = make_session(g.model, crowd, &error);
    const struct {
        uint32_t asked[3];
        uint64_t computed[3];
    } rows[] = {{{6, 1, 1}, {6, 1, 1}}, {{1, 6, 1}, {1, 6, 1}}, {{6, 0, 0}, {6, 1, 1}},
                {{0, 2, 0}, {3, 2, 3}}, {{8, 8, 8}, {2, 3, 3}}, {{1, 9, 9}, {1, 3, 4}},
                {{0, 0, 0}, {2, 3, 3}}};
    const Ids prompt(20, 400);
    for (const auto &row : rows) {
        std::vector<std::unique_ptr<Gen>> all;
        std::vector<ggufx_step_item> items;
        for (uint32_t i = 0; i < 3; i++) {
            must(ggufx_session_truncate(session, i, 0, &error), error, "empty");
            all.push_back(std::make_unique<Gen>(session, g.n_vocab, GeneratorMode{.sequence = i}));
            all.back()->prompt(prompt);
            items.push_back(all.back()->item(row.asked[i]));
        }
        must(ggufx_session_step(nullptr, session, items.data(), 3, nullptr, &error), error, "step");
        for (uint32_t i = 0; i < 3; i++)
            CHECK(20 - all[i]->facts().n_prompt_left == row.computed[i],
                  "%u, %u, %u asked: item %u has %u tokens", row.asked[0], row.asked[1],
                  row.asked[2], i, unsigned(20 - all[i]->facts().n_prompt_left));
    }
    ggufx_session_destroy(session);
}

// Refusals name the stop string.
void test_refused_stops() {
    const std::string large((size_t{1} << 20) - 1, 'a');
    for (const bool empty : {true, false}) {
        const GeneratorOptions options(g.n_vocab, {.stops = {"a", empty ? "" : large + "b"}});
        ggufx_generator *made = nullptr;
        ggufx_error error;
        const ggufx_status status = ggufx_generator_create(&made, g.session, &options, &error);
        CHECK(status == (empty ? GGUFX_E_ARGUMENT : GGUFX_E_LIMIT) && error.index == 1 &&
                  strstr(error.message, empty ? "string 1 is empty" : "1048576") && !made,
              "%s", error.message);
    }
}

// A cancelled generator ends while it is suspended, with the text that a stop string held back.
void test_cancelled_while_suspended() {
    Script given = {tokenize(g.tokenizer, " a dog and", 0)};
    const OwnedSampler sampler = chain_of(given, g.n_vocab);
    GeneratorMode mode = mode_of(sampler.get());
    mode.stops = {"dog and then"};
    Gen one(g.session, g.n_vocab, mode);
    one.prompt("Once");
    ggufx_error error;
    while (one.facts().n_tokens < given.ids.size()) {
        const ggufx_step_item item = one.item();
        must(ggufx_session_step(nullptr, g.session, &item, 1, nullptr, &error), error, "step");
        (void)one.poll();
    }
    CHECK(one.text().find("dog") == std::string::npos, "not held back: %s", one.told().c_str());
    must(ggufx_generator_suspend(one.handle(), &error), error, "suspend");
    ggufx_event event = {};
    event.struct_size = sizeof event;
    CHECK(ggufx_generator_next(&event, one.handle(), nullptr, &error) == GGUFX_E_STATE, "%s",
          error.message);
    ggufx_generator_cancel(one.handle());
    (void)one.run();
    CHECK(one.end() == GGUFX_END_CANCELLED && one.text().find("dog and") != std::string::npos,
          "end %u: %s", one.end(), one.told().c_str());
}

// ---- messages

constexpr const char *kTemplate =
    "{% for m in messages %}<|{{ m.role }}|>{{ m.content }}\n{% endfor %}{% if "
    "add_generation_prompt %}<|assistant|>{% endif %}{# <think></think> <tool_call>{\"name\": "
    "\"f\", \"arguments\": {}}</tool_call> #}{% if tools %}{{ tools }}{% endif %}";

void test_messages() {
    ggufx_chat_template_options of;
    of = {};
    of.struct_size = sizeof of;
    of.text = text_of(kTemplate);
    ggufx_chat_template *chat = nullptr;
    ggufx_error error;
    must(ggufx_chat_template_create(&chat, g_runtime, nullptr, &of, &error), error, "chat");
    const char messages[] = R"([{"role":"user","content":"Hello"}])";
    const char tools[] = R"([{"type":"function","function":{"name":"f","parameters":)"
                         R"({"type":"object","properties":{"x":{"type":"integer"}}}}}])";
    const char said[] = "<think>hm, a dog</think>It is <b>one</b>.<tool_call>{\"name\": \"f\", "
                        "\"arguments\": {\"x\": 3}}</tool_call>";
    Script given = {tokenize(g.tokenizer, said, 0)};
    const OwnedSampler sampler = chain_of(given, g.n_vocab);
    for (const bool has_tools : {true, false}) {
        ggufx_chat_request request;
        request = {};
        request.struct_size = sizeof request;
        request.flags = GGUFX_CHAT_GENERATE;
        request.messages_json = text_of(messages);
        request.tools = {has_tools ? tools : nullptr, has_tools ? sizeof tools - 1 : 0};
        ggufx_prompt prompt = {};
        prompt.struct_size = sizeof prompt;
        prompt.messages = &request;
        GeneratorMode mode = mode_of(sampler.get());
        mode.chat = chat;
        given.at = 0;
        Gen one(g.session, g.n_vocab, mode);
        must(one.set(prompt, &error), error, "messages");
        (void)one.run();
        CHECK(one.text(GGUFX_EVENT_REASONING) == "hm, a dog", "reasoning \"%s\"",
              one.text(GGUFX_EVENT_REASONING).c_str());
        // The vocabulary writes a space before the text.
        const std::string answer = has_tools ? "It is <b>one</b>." : strstr(said, "It");
        CHECK(one.text() == " " + answer, "answer \"%s\"", one.text().c_str());
        CHECK(one.text(GGUFX_EVENT_TOOL_CALL) == (has_tools ? "f" : ""), "call \"%s\"",
              one.text(GGUFX_EVENT_TOOL_CALL).c_str());
        CHECK(one.text(GGUFX_EVENT_TOOL_ARGUMENTS) == (has_tools ? "{\"x\": 3}" : ""),
              "arguments \"%s\"", one.text(GGUFX_EVENT_TOOL_ARGUMENTS).c_str());
        CHECK(one.facts().n_reasoning > 3, "%zu tokens of reasoning",
              static_cast<size_t>(one.facts().n_reasoning));
    }
    ggufx_chat_template_destroy(chat);
}

// The output of a script as an answer to messages.
void run_messages(Gen &one, const char *messages, uint32_t flags) {
    ggufx_chat_request request = {};
    request.struct_size = sizeof request;
    request.flags = flags;
    request.messages_json = text_of(messages);
    ggufx_prompt prompt = {};
    prompt.struct_size = sizeof prompt;
    prompt.messages = &request;
    ggufx_error error;
    must(one.set(prompt, &error), error, "messages");
    (void)one.run();
}

void test_reasoning() {
    ggufx_chat_template_options of = {};
    of.struct_size = sizeof of;
    of.text = text_of(kTemplate);
    ggufx_chat_template *chat = nullptr;
    ggufx_error error;
    must(ggufx_chat_template_create(&chat, g_runtime, nullptr, &of, &error), error, "chat");
    const char hello[] = R"([{"role":"user","content":"Hello"}])";
    const std::string said = "<think>a dog and a cat and a sun and a bed</think>It is one.";
    Script given = {tokenize(g.tokenizer, said, 0)};
    const OwnedSampler sampler = chain_of(given, g.n_vocab);
    GeneratorMode mode = mode_of(sampler.get());
    mode.chat = chat;
    { // kept in the answer
        GeneratorMode kept = mode;
        kept.flags = GGUFX_GENERATOR_KEEP_REASONING;
        Gen one(g.session, g.n_vocab, kept);
        run_messages(one, hello, GGUFX_CHAT_GENERATE);
        CHECK(one.text() == " " + said && one.text(GGUFX_EVENT_REASONING).empty(), "\"%s\"",
              one.text().c_str());
        CHECK(one.facts().n_reasoning > 5, "%zu tokens of reasoning",
              static_cast<size_t>(one.facts().n_reasoning));
    }
    given.at = 0;
    { // at most three tokens, then its end is forced
        GeneratorMode few = mode;
        few.flags = GGUFX_GENERATOR_HAS_MAX_REASONING;
        few.max_reasoning = 3;
        Gen one(g.session, g.n_vocab, few);
        run_messages(one, hello, GGUFX_CHAT_GENERATE);
        const std::string thought = one.text(GGUFX_EVENT_REASONING);
        CHECK(!thought.empty() && thought.size() < 16 && said.find(thought) == 7, "\"%s\"",
              thought.c_str());
        // Its end was forced, so the rest of the script is the answer, with its own marker.
        CHECK(one.text().find(said.substr(7 + thought.size() + 1)) != std::string::npos,
              "\"%s\" after \"%s\"", one.text().c_str(), thought.c_str());
    }
    given = {tokenize(g.tokenizer, "sure</think>Yes", 0)};
    { // continues reasoning that the message has left open
        Gen one(g.session, g.n_vocab, mode);
        run_messages(
            one, R"([{"role":"user","content":"Hi"},{"role":"assistant","content":"<think>I am"}])",
            GGUFX_CHAT_CONTINUE);
        CHECK(one.text(GGUFX_EVENT_REASONING) == " sure" && one.text() == "Yes", "\"%s\", \"%s\"",
              one.text(GGUFX_EVENT_REASONING).c_str(), one.text().c_str());
    }
    ggufx_chat_template_destroy(chat);
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) return 77;
    begin_in("");
    g.open(argv[1]);
    ggufx_error error;
    g.session = make_session(g.model, {.n_context = kContext, .matmul_flags = 0}, &error);
    test_texts();
    test_ends();
    test_cancel();
    test_logprobs();
    test_grammar();
    test_sampler_of_the_output();
    test_random_numbers_go_on();
    test_sum_of_logprobs();
    test_shares();
    test_refused_stops();
    test_cancelled_while_suspended();
    test_messages();
    test_reasoning();
    g.close();
    return end();
}
