// Shared by the tests of generators: a generator with its options, and what it tells as text.
// SPDX-License-Identifier: MIT
#pragma once

#include "../text_of.h"
#include "batch_calls.hpp"

#include <stdio.h>
#include <string.h>

#include <memory>

// Options of a generator; zeros are its defaults.
struct GeneratorMode {
    uint32_t flags = 0, sequence = 0, max_tokens = 24, n_logprobs = 0, max_reasoning = 0;
    float temperature = 0; // 0: greedy
    uint64_t seed = 0;
    std::vector<std::string> stops = {};
    const ggufx_tokenizer *tokenizer = nullptr;
    const ggufx_grammar *grammar = nullptr;
    const ggufx_chat_template *chat = nullptr;
    const ggufx_sampler *sampler = nullptr; // in place of temperature
    const ggufx_draft_options *draft = nullptr;
};

inline ggufx_text text_of(const std::string &text) {
    return {text.data(), text.size()};
}

struct DestroySampler {
    void operator()(ggufx_sampler *sampler) const { ggufx_sampler_destroy(sampler); }
};
using OwnedSampler = std::unique_ptr<ggufx_sampler, DestroySampler>;

// Returns a chain with a sampler of the host: static choose() of `script`.
template <typename Script> OwnedSampler chain_of(Script &script, uint32_t n_vocab) {
    ggufx_sampler *chain = nullptr;
    ggufx_error error;
    must(ggufx_sampler_create(&chain, g_runtime, n_vocab, 1, &error), error, "chain");
    must(ggufx_sampler_add_host(chain, Script::choose, &script, &error), error, "host");
    return OwnedSampler(chain);
}

// The demo model, whose tokenizer and template the tests of texts need.
struct DemoModel {
    ggufx_file *file = nullptr;
    ggufx_model *model = nullptr;
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_session *session = nullptr;
    uint32_t n_vocab = 0;
    int32_t eos = -1;

    void open(const char *path) {
        ggufx_error error;
        must(ggufx_open(&file, g_runtime, path, nullptr, &error), error, "open");
        must(ggufx_model_create(&model, g_runtime, file, nullptr, &error), error, "model");
        must(ggufx_tokenizer_create(&tokenizer, file, &error), error, "tokenizer");
        n_vocab = facts_of(model).n_vocab;
        ggufx_tokenizer_facts facts = {};
        facts.struct_size = sizeof facts;
        must(ggufx_tokenizer_info(&facts, tokenizer, &error), error, "tokenizer");
        eos = facts.eos;
    }
    void close() const {
        ggufx_session_destroy(session);
        ggufx_tokenizer_destroy(tokenizer);
        ggufx_model_destroy(model);
        ggufx_file_destroy(file);
    }
};

inline OwnedSampler make_chain(uint32_t n_vocab, float temperature, uint64_t seed) {
    ggufx_sampler *chain = nullptr;
    ggufx_error error;
    must(ggufx_sampler_create(&chain, g_runtime, n_vocab, seed, &error), error, "chain");
    ggufx_penalty_options penalties = {};
    penalties.struct_size = sizeof penalties;
    penalties.repeat = 1.1f;
    penalties.last_n = 16;
    must(ggufx_sampler_add_penalties(chain, &penalties, &error), error, "penalties");
    must(ggufx_sampler_add_temperature(chain, temperature, nullptr, &error), error, "temperature");
    return OwnedSampler(chain);
}

// All that an event says, as a line.
inline std::string line_of(const ggufx_event &event) {
    char head[96];
    snprintf(head, sizeof head, "%u %u %d %u |", event.kind, event.end, event.status, event.index);
    std::string out = head + std::string(event.text.data, event.text.size) + "|";
    for (size_t i = 0; i < event.n_tokens; i++) {
        const ggufx_event_token &token = event.tokens[i];
        char text[96];
        snprintf(text, sizeof text, " %d:%a@%llu", token.id, static_cast<double>(token.logprob),
                 static_cast<unsigned long long>(token.offset));
        out += text;
        for (size_t j = 0; j < token.n_top; j++) {
            snprintf(text, sizeof text, ",%d:%a", token.top[j].id,
                     static_cast<double>(token.top[j].logprob));
            out += text;
        }
    }
    return out + "\n";
}

// Options with what they point to.
struct GeneratorOptions : ggufx_generator_options {
    std::vector<ggufx_text> texts;
    OwnedSampler chain;

    GeneratorOptions(uint32_t n_vocab, const GeneratorMode &mode) : ggufx_generator_options() {
        struct_size = sizeof(ggufx_generator_options);
        flags = mode.flags;
        sequence = mode.sequence;
        max_tokens = mode.max_tokens;
        n_logprobs = mode.n_logprobs;
        max_reasoning = mode.max_reasoning;
        tokenizer = mode.tokenizer;
        grammar = mode.grammar;
        chat = mode.chat;
        draft = mode.draft;
        for (const std::string &stop : mode.stops) texts.push_back(text_of(stop));
        stops = texts.data();
        n_stops = texts.size();
        if (mode.temperature > 0) chain = make_chain(n_vocab, mode.temperature, mode.seed);
        sampler = mode.sampler ? mode.sampler : chain.get();
    }
};

// A generator, and the events that it has given.
class Gen {
public:
    Gen(ggufx_session *session, uint32_t n_vocab, const GeneratorMode &mode) {
        const GeneratorOptions options(n_vocab, mode);
        ggufx_error error;
        must(ggufx_generator_create(&handle_, session, &options, &error), error, "generator");
    }
    explicit Gen(ggufx_generator *handle) : handle_(handle) {}
    Gen(const Gen &) = delete;
    ~Gen() { ggufx_generator_destroy(handle_); }
    // Takes the place of another one, which goes on where that one was.
    void replace(ggufx_generator *handle) {
        ggufx_generator_destroy(handle_);
        handle_ = handle;
    }
    std::vector<uint8_t> saved() const {
        SnapshotFile file;
        ggufx_error error;
        must(ggufx_generator_save(handle_, SnapshotFile::write, &file, &error), error, "save");
        return file.bytes;
    }

    ggufx_generator *handle() const { return handle_; }
    const std::string &told() const { return told_; }
    // The texts of events of a kind, joined.
    const std::string &text(uint32_t kind = GGUFX_EVENT_TEXT) const { return texts_[kind]; }
    uint32_t end() const { return end_; }
    void forget() {
        told_.clear();
        for (std::string &text : texts_) text.clear();
        end_ = 0;
    }

    ggufx_status set(const ggufx_prompt &prompt, ggufx_error *error) {
        return ggufx_generator_set_prompt(handle_, &prompt, error);
    }
    void prompt(const Ids &ids, uint32_t flags = 0) {
        ggufx_prompt prompt = {};
        prompt.struct_size = sizeof prompt;
        prompt.flags = flags;
        prompt.tokens = ids.data();
        prompt.n_tokens = ids.size();
        ggufx_error error;
        must(set(prompt, &error), error, "prompt");
    }
    void prompt(const std::string &text, uint32_t flags = 0) {
        ggufx_prompt prompt = {};
        prompt.struct_size = sizeof prompt;
        prompt.flags = flags;
        prompt.text = text_of(text);
        ggufx_error error;
        must(set(prompt, &error), error, "prompt");
    }
    void take(const ggufx_event &event) {
        told_ += line_of(event);
        if (event.kind == GGUFX_EVENT_END) end_ = event.end;
        texts_[event.kind].append(event.text.data, event.text.size);
    }
    // Polls all events, without those of prompts; returns whether the generation has ended.
    bool poll() {
        ggufx_event event = {};
        event.struct_size = sizeof event;
        ggufx_error error;
        for (;;) {
            must(ggufx_generator_poll(&event, handle_, &error), error, "poll");
            if (event.kind == GGUFX_EVENT_NONE) return end_ != 0;
            if (event.kind != GGUFX_EVENT_PROMPT || event.n_tokens) take(event);
        }
    }
    // Runs it to its end.
    const std::string &run(const ggufx_step_options *options = nullptr) {
        ggufx_event event = {};
        event.struct_size = sizeof event;
        ggufx_error error;
        while (!end_) {
            must(ggufx_generator_next(&event, handle_, options, &error), error, "next");
            if (event.kind != GGUFX_EVENT_NONE) take(event);
        }
        return told_;
    }
    Ids tokens() const {
        size_t n = 0;
        (void)ggufx_generator_tokens(nullptr, 0, &n, handle_, nullptr);
        Ids out(n);
        ggufx_error error;
        must(ggufx_generator_tokens(out.data(), n, &n, handle_, &error), error, "tokens");
        return out;
    }
    ggufx_generator_facts facts() const {
        ggufx_generator_facts out = {};
        out.struct_size = sizeof out;
        ggufx_error error;
        must(ggufx_generator_info(&out, handle_, &error), error, "info");
        return out;
    }
    ggufx_step_item item(uint32_t n_tokens = 0) const {
        ggufx_step_item out = {};
        out.struct_size = sizeof out;
        out.generator = handle_;
        out.n_tokens = n_tokens;
        return out;
    }

private:
    ggufx_generator *handle_ = nullptr;
    std::string told_, texts_[8];
    uint32_t end_ = 0;
};

// Runs steps of all generators until each has ended.
inline void run_together(ggufx_session *session, const std::vector<Gen *> &all, uint32_t chunk = 0,
                         uint64_t budget_us = 0) {
    std::vector<ggufx_step_item> items;
    for (const Gen *one : all) items.push_back(one->item(chunk));
    ggufx_step_options options = {};
    options.struct_size = sizeof options;
    options.budget_us = budget_us;
    for (bool ended = false; !ended;) {
        ggufx_error error;
        must(ggufx_session_step(nullptr, session, items.data(), items.size(), &options, &error),
             error, "step");
        ended = true;
        for (Gen *one : all) ended = one->poll() && ended;
    }
}
