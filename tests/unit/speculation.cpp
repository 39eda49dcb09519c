// Speculative decoding changes nothing. Ids, log-probabilities and the following logits are
// bit-identical to those of decoding token by token, for every draft source and acceptance rate.
// Models with windows, sinks, recurrent states, float and quantized caches; greedy and sampling
// chains.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "generator_calls.hpp"

extern "C" {
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>

namespace {

constexpr size_t kLeastPrompt = 300, kTokens = 72;
constexpr uint32_t kContext = 400;
constexpr const char *kFiles[] = {"gemma3", "gpt-oss", "llama3", "qwen35"};
constexpr uint32_t kTypes[] = {GGUFX_TYPE_F16, GGUFX_TYPE_GX4};

enum class Kind { lookup, model };
constexpr Kind kKinds[] = {Kind::lookup, Kind::model};
constexpr const char *kKindNames[] = {"lookup", "model"};

struct Totals {
    uint64_t drafted[2] = {}, accepted[2] = {};
    long n_cancelled = 0, n_texts = 0;
} g_totals;

// Returns a greedy sampler, filters, or a chain that depends on accepted tokens.
OwnedSampler make_sampler(size_t which, uint32_t n_vocab) {
    ggufx_sampler *sampler = nullptr;
    ggufx_error error;
    must(ggufx_sampler_create(&sampler, g_runtime, n_vocab, 9, &error), error, "sampler");
    if (which == 0) {
        must(ggufx_sampler_add_top_k(sampler, 1, &error), error, "top-k");
    } else if (which == 1) {
        must(ggufx_sampler_add_top_k(sampler, 20, &error), error, "top-k");
        must(ggufx_sampler_add_temperature(sampler, 0.7f, nullptr, &error), error, "temperature");
    } else {
        ggufx_penalty_options penalties = {};
        penalties.struct_size = sizeof penalties;
        penalties.repeat = 1.2f;
        penalties.last_n = 64;
        ggufx_dry_options dry = {};
        dry.struct_size = sizeof dry;
        dry.multiplier = 0.8f;
        dry.last_n = 64;
        must(ggufx_sampler_add_penalties(sampler, &penalties, &error), error, "penalties");
        must(ggufx_sampler_add_dry(sampler, &dry, &error), error, "dry");
        must(ggufx_sampler_add_temperature(sampler, 0.8f, nullptr, &error), error, "temperature");
        must(ggufx_sampler_add_mirostat(sampler, nullptr, &error), error, "mirostat");
    }
    return OwnedSampler(sampler);
}

// Number of prompts for each model, cache type and sampler.
size_t n_prompts() {
    const char *asked = getenv("GGUFX_TEST_SPECULATION_PROMPTS");
    return asked ? strtoul(asked, nullptr, 10) : 1;
}

// Returns a prompt with some repetitions.
Ids make_prompt(size_t n_vocab, uint64_t seed) {
    Random random = {seed};
    Ids ids = random_ids(kLeastPrompt + random.below(28), n_vocab, seed);
    for (size_t i = 40; i + 20 < ids.size(); i += 20 + random.below(30))
        std::copy_n(ids.begin() + long(random.below(i - 20)), 20, ids.begin() + long(i));
    return ids;
}

struct Answer {
    Ids ids;
    std::vector<float> logprobs, logits; // logits after the last id

    bool operator==(const Answer &o) const {
        return ids == o.ids && logprobs.size() == o.logprobs.size() &&
               logits.size() == o.logits.size() &&
               !memcmp(logprobs.data(), o.logprobs.data(), logprobs.size() * sizeof(float)) &&
               !memcmp(logits.data(), o.logits.data(), logits.size() * sizeof(float));
    }
};

// One model in one mode, one sampler, one prompt.
struct Text {
    const ggufx_model *model;
    ggufx_model_facts facts;
    CrowdMode mode;
    uint32_t decode_flags; // products of generated tokens
    size_t sampler;
    Ids prompt;
    std::string name;

    Answer plain() const;
    Answer speculated(Kind kind, uint64_t seed) const;
    ggufx_session *session(const CrowdMode &of) const {
        ggufx_error error;
        ggufx_session *out = make_session(model, of, &error);
        if (!out) must(error.status, error, "session");
        return out;
    }
    // Returns the logits after the last id.
    std::vector<float> decode(ggufx_session *to, const Ids &ids, uint32_t flags) const {
        Call call = {{make_item(0, GGUFX_DECODE_LOGITS, ids.data(), ids.size())}, flags, {}, {}};
        ggufx_error error;
        must(call.run(to, facts, nullptr, &error), error, "decode");
        return call.logits;
    }
};

Answer Text::plain() const {
    Answer answer;
    ggufx_session *const to = session(mode);
    const OwnedSampler chain = make_sampler(sampler, facts.n_vocab);
    ggufx_error error;
    must(ggufx_sampler_accept(chain.get(), prompt.data(), prompt.size(), &error), error, "accept");
    answer.logits = decode(to, prompt, GGUFX_MATMUL_TILED);
    while (answer.ids.size() < kTokens) {
        int32_t id = 0;
        float logprob = 0;
        must(ggufx_sampler_sample(&id, &logprob, chain.get(), nullptr, answer.logits.data(),
                                  answer.logits.size(), &error),
             error, "sample");
        must(ggufx_sampler_accept(chain.get(), &id, 1, &error), error, "accept");
        answer.ids.push_back(id);
        answer.logprobs.push_back(logprob);
        answer.logits = decode(to, {id}, decode_flags);
    }
    ggufx_session_destroy(to);
    return answer;
}

Answer Text::speculated(Kind kind, uint64_t seed) const {
    Answer answer;
    CrowdMode other = mode; // drafts differ in part
    other.matmul_flags = GGUFX_MATMUL_F32;
    other.type = GGUFX_TYPE_F32;
    ggufx_session *const to = session(mode), *const small = session(other);
    const OwnedSampler chain = make_sampler(sampler, facts.n_vocab);
    ggufx_draft_options draft = {};
    draft.struct_size = sizeof draft;
    draft.n_draft = seed % 3 ? 0 : 31;
    if (kind == Kind::model) draft.session = small;
    if (kind == Kind::lookup) draft.n_match = 2;
    GeneratorMode options;
    options.flags =
        GGUFX_GENERATOR_IDS_ONLY | GGUFX_GENERATOR_IGNORE_EOG | GGUFX_GENERATOR_LOGPROBS;
    if (decode_flags == GGUFX_MATMUL_TILED) options.flags |= GGUFX_GENERATOR_TILED_DECODE;
    options.max_tokens = kTokens;
    options.sampler = chain.get();
    options.draft = &draft;
    {
        Gen gen(to, facts.n_vocab, options);
        gen.prompt(prompt);
        Random random = {seed};
        ggufx_event event = {};
        event.struct_size = sizeof event;
        do {
            Countdown polls(random.below(3) ? 0 : static_cast<int>(1 + random.below(8)));
            ggufx_step_options step = {};
            step.struct_size = sizeof step;
            step.progress = &polls.progress;
            const uint64_t before = ggufx_session_length(to, 0);
            ggufx_error error;
            const ggufx_status status = ggufx_generator_next(&event, gen.handle(), &step, &error);
            if (status == GGUFX_E_CANCELLED) {
                g_totals.n_cancelled++;
                CHECK(before == ggufx_session_length(to, 0) &&
                          gen.facts().n_tokens == answer.ids.size(),
                      "%s: a cancelled call changed something", name.c_str());
                continue;
            }
            must(status, error, name.c_str());
            for (size_t i = 0; i < event.n_tokens; i++) {
                answer.ids.push_back(event.tokens[i].id);
                answer.logprobs.push_back(event.tokens[i].logprob);
            }
        } while (event.kind != GGUFX_EVENT_END);
        const ggufx_generator_facts done = gen.facts();
        CHECK(event.end == GGUFX_END_LENGTH && done.n_tokens == kTokens, "%s: counts",
              name.c_str());
        CHECK(done.n_accepted <= done.n_drafted, "%s: counts", name.c_str());
        g_totals.drafted[static_cast<size_t>(kind)] += done.n_drafted;
        g_totals.accepted[static_cast<size_t>(kind)] += done.n_accepted;
    }
    const uint64_t n = ggufx_session_length(to, 0);
    CHECK(n + 1 == prompt.size() + kTokens, "%s: other tokens in the session", name.c_str());
    if (!answer.ids.empty()) answer.logits = decode(to, {answer.ids.back()}, decode_flags);
    ggufx_session_destroy(to);
    ggufx_session_destroy(small);
    return answer;
}

void test_text(const ggufx_model *model, const std::string &name, uint32_t type, size_t sampler,
               uint64_t seed) {
    Text text = {model,
                 facts_of(model),
                 {.n_context = kContext, .n_batch = seed % 5 ? 0u : 7u, .type = type},
                 seed % 2 ? GGUFX_MATMUL_TILED : GGUFX_MATMUL_BATCH_INVARIANT,
                 sampler,
                 make_prompt(vocabulary_of(model), seed),
                 name + ", type " + std::to_string(type) + ", sampler " + std::to_string(sampler) +
                     ", seed " + std::to_string(seed)};
    text.mode.matmul_flags = 0;
    const Answer want = text.plain();
    g_totals.n_texts++;
    for (const Kind kind : kKinds) {
        const Answer got = text.speculated(kind, seed);
        CHECK(got == want, "%s, drafts by %s: not the text of one token after another",
              text.name.c_str(), kKindNames[static_cast<size_t>(kind)]);
    }
}

void test_file(const TinyFile &file, size_t *done) {
    Opened opened(file.path);
    opened.with_model();
    for (const uint32_t type : kTypes)
        for (size_t sampler = 0; sampler < 3; sampler++)
            for (size_t i = 0; i < n_prompts(); i++)
                if ((*done)++ % test_step() == 0)
                    test_text(opened.model, file.name, type, sampler, *done);
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    size_t n_files = 0, done = 0;
    for (const TinyFile &file : tiny_files()) {
        const auto is_it = [&](const char *name) { return file.name == name; };
        if (std::none_of(std::begin(kFiles), std::end(kFiles), is_it)) continue;
        n_files++;
        test_file(file, &done);
    }
    CHECK(n_files == std::size(kFiles), "%zu of the models were found", n_files);
    for (const Kind kind : kKinds) {
        const auto k = static_cast<size_t>(kind);
        printf("%s: %llu of %llu drafts were accepted\n", kKindNames[k],
               (unsigned long long)g_totals.accepted[k], (unsigned long long)g_totals.drafted[k]);
        CHECK(g_totals.drafted[k] > 0, "no drafts by %s", kKindNames[k]);
    }
    const double share = double(g_totals.accepted[0] + g_totals.accepted[1]) /
                         double(g_totals.drafted[0] + g_totals.drafted[1]);
    CHECK(share > 0.1 && share < 0.98, "%.2f of the drafts were accepted", share);
    CHECK(g_totals.n_cancelled > g_totals.n_texts, "%ld calls were cancelled",
          g_totals.n_cancelled);
    return end();
}
