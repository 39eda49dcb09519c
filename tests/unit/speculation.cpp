// Speculative decoding changes nothing. Ids, log-probabilities and the following logits are
// bit-identical to those of decoding token by token, for every draft source and acceptance rate.
// Models with windows, sinks, recurrent states, float and quantized caches; greedy and sampling
// chains.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "tiny_files.hpp"

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
constexpr uint32_t kTypes[] = {GGUFX_KV_F16, GGUFX_KV_GX4};
constexpr uint32_t kWays[] = {GGUFX_MATMUL_BATCH_INVARIANT, GGUFX_MATMUL_TILES};

enum class Kind { host, lookup, model };
constexpr Kind kKinds[] = {Kind::host, Kind::lookup, Kind::model};
constexpr const char *kKindNames[] = {"host", "lookup", "model"};

struct Totals {
    uint64_t drafted[3] = {}, accepted[3] = {};
    long n_cancelled = 0, n_texts = 0;
} g_totals;

// Returns a greedy sampler, the simple sampler with filters, or a chain that depends on accepted
// tokens.
ggufx_sampler *make_sampler(size_t which, size_t n_vocab) {
    ggufx_sampler *sampler = nullptr;
    ggufx_error error;
    const auto n = static_cast<uint32_t>(n_vocab);
    if (which < 2) {
        ggufx_sampler_options options = {};
        options.struct_size = sizeof options;
        options.temperature = which ? 0.7f : 0.0f;
        options.top_k = which ? 20 : 0;
        options.seed = 5;
        must(ggufx_sampler_create(&sampler, g_runtime, n, &options, &error), error, "sampler");
        return sampler;
    }
    must(ggufx_sampler_create_chain(&sampler, g_runtime, n, 9, &error), error, "chain");
    for (const uint32_t kind :
         {GGUFX_LINK_PENALTIES, GGUFX_LINK_DRY, GGUFX_LINK_TEMPERATURE, GGUFX_LINK_MIROSTAT}) {
        ggufx_sampler_link link = {};
        link.struct_size = sizeof link;
        link.kind = kind;
        if (kind == GGUFX_LINK_PENALTIES) link.repetition = 1.2f;
        if (kind == GGUFX_LINK_DRY) link.multiplier = 0.8f;
        if (kind <= GGUFX_LINK_DRY && kind >= GGUFX_LINK_PENALTIES) link.n_last = 64;
        if (kind == GGUFX_LINK_TEMPERATURE) link.temperature = 0.8f;
        if (kind == GGUFX_LINK_MIROSTAT) link.version = 2;
        must(ggufx_sampler_add(sampler, &link, &error), error, "link");
    }
    return sampler;
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
    Mode mode;
    size_t sampler;
    Ids prompt;
    std::string name;

    Answer plain() const;
    Answer speculated(Kind kind, const Ids &truth, uint64_t seed) const;
};

void decode(ggufx_session *session, const Ids &ids) {
    ggufx_error error;
    must(ggufx_session_decode(session, ids.data(), ids.size(), nullptr, &error), error, "decode");
}

Answer Text::plain() const {
    Answer answer;
    Session session(model, mode);
    ggufx_sampler *const chain = make_sampler(sampler, session.n_vocab());
    ggufx_error error;
    decode(session.handle(), prompt);
    while (answer.ids.size() < kTokens) {
        const std::vector<float> logits = session.logits();
        int32_t id = 0;
        float logprob = 0;
        must(ggufx_sampler_sample(&id, &logprob, chain, logits.data(), logits.size(), &error),
             error, "sample");
        must(ggufx_sampler_accept(chain, &id, 1, &error), error, "accept");
        answer.ids.push_back(id);
        answer.logprobs.push_back(logprob);
        decode(session.handle(), {id});
    }
    answer.logits = session.logits();
    ggufx_sampler_destroy(chain);
    return answer;
}

// A custom draft source that is mostly right.
struct Oracle {
    const Ids &prompt, &truth;
    Random random;
    size_t n_vocab;
    bool odd = false;

    static size_t guess(void *user, int32_t *out, size_t most, const int32_t *text, size_t n_text,
                        int32_t last) {
        Oracle &self = *static_cast<Oracle *>(user);
        const size_t at = n_text + 1 - self.prompt.size(); // index in truth, after `last`
        self.odd |= most == 0 || memcmp(text, self.prompt.data(), self.prompt.size() * 4) != 0 ||
                    memcmp(text + self.prompt.size(), self.truth.data(), (at - 1) * 4) != 0 ||
                    last != self.truth[at - 1];
        const size_t n = self.random.below(most + 1);
        for (size_t i = 0; i < n; i++) {
            const bool right = self.random.below(6) != 0 && at + i < self.truth.size();
            out[i] =
                right ? self.truth[at + i] : static_cast<int32_t>(self.random.below(self.n_vocab));
        }
        return n;
    }
};

int32_t countdown(void *user, uint64_t, uint64_t) {
    return --*static_cast<int *>(user) == 0;
}

Answer Text::speculated(Kind kind, const Ids &truth, uint64_t seed) const {
    Answer answer;
    Session session(model, mode);
    const size_t n_vocab = session.n_vocab();
    Mode other = mode; // drafts differ in part
    other.matmul_flags = GGUFX_MATMUL_F32;
    other.type_k = other.type_v = GGUFX_KV_F32;
    Session draft(model, other);
    ggufx_sampler *const chain = make_sampler(sampler, n_vocab);
    Oracle oracle = {prompt, truth, {seed}, n_vocab};
    ggufx_speculator_options options = {};
    options.struct_size = sizeof options;
    options.n_draft = seed % 3 ? 0 : 31;
    if (kind == Kind::model) options.draft = draft.handle();
    if (kind == Kind::lookup) options.n_match = 2;
    if (kind == Kind::host) {
        options.user = &oracle;
        options.guess = Oracle::guess;
    }
    ggufx_speculator *speculator = nullptr;
    ggufx_error error;
    must(ggufx_speculator_create(&speculator, session.handle(), &options, &error), error, "create");
    Random random = {seed};
    decode(session.handle(), prompt);
    while (answer.ids.size() < kTokens) {
        int32_t ids[40];
        float logprobs[40];
        size_t n = 0;
        const size_t left = kTokens - answer.ids.size();
        const size_t capacity = std::min(left, random.below(4) ? std::size(ids) : 1 + left / 8);
        int polls = random.below(3) ? 0 : static_cast<int>(1 + random.below(8));
        ggufx_progress progress = {};
        progress.user = &polls;
        progress.report = countdown;
        const uint64_t before = ggufx_session_length(session.handle());
        const ggufx_status status = ggufx_speculator_next(ids, logprobs, capacity, &n, speculator,
                                                          chain, nullptr, &progress, &error);
        if (status == GGUFX_E_CANCELLED) {
            g_totals.n_cancelled++;
            CHECK(n == 0 && before == ggufx_session_length(session.handle()),
                  "%s: a cancelled call changed something", name.c_str());
            continue;
        }
        must(status, error, name.c_str());
        CHECK(n >= 1 && n <= capacity, "%s: %zu tokens for %zu", name.c_str(), n, capacity);
        answer.ids.insert(answer.ids.end(), ids, ids + n);
        answer.logprobs.insert(answer.logprobs.end(), logprobs, logprobs + n);
        CHECK(ggufx_session_length(session.handle()) == prompt.size() + answer.ids.size() - 1,
              "%s: other tokens in the session", name.c_str());
    }
    decode(session.handle(), {answer.ids.back()});
    answer.logits = session.logits();
    ggufx_speculator_facts facts = {};
    facts.struct_size = sizeof facts;
    must(ggufx_speculator_info(&facts, speculator, &error), error, "info");
    CHECK(facts.n_tokens == kTokens && facts.n_calls <= kTokens, "%s: counts", name.c_str());
    CHECK(facts.n_tokens == facts.n_calls + facts.n_accepted, "%s: counts", name.c_str());
    CHECK(!oracle.odd, "%s: guessed from another text", name.c_str());
    g_totals.drafted[static_cast<size_t>(kind)] += facts.n_drafted;
    g_totals.accepted[static_cast<size_t>(kind)] += facts.n_accepted;
    ggufx_speculator_destroy(speculator);
    ggufx_sampler_destroy(chain);
    return answer;
}

void test_text(const ggufx_model *model, const std::string &name, uint32_t type, size_t sampler,
               uint64_t seed) {
    Text text = {model,
                 {},
                 sampler,
                 make_prompt(vocabulary_of(model), seed),
                 name + ", type " + std::to_string(type) + ", sampler " + std::to_string(sampler) +
                     ", seed " + std::to_string(seed)};
    text.mode.matmul_flags = kWays[seed % 2];
    text.mode.type_k = text.mode.type_v = type;
    text.mode.n_context = kContext;
    text.mode.n_batch = seed % 5 == 0 ? 7 : 0;
    const Answer want = text.plain();
    g_totals.n_texts++;
    for (const Kind kind : kKinds) {
        const Answer got = text.speculated(kind, want.ids, seed);
        CHECK(got == want, "%s, guessed by %s: not the text of one token after another",
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
        printf("%s: %llu of %llu guesses were right\n", kKindNames[k],
               (unsigned long long)g_totals.accepted[k], (unsigned long long)g_totals.drafted[k]);
        CHECK(g_totals.drafted[k] > 0, "%s guessed nothing", kKindNames[k]);
    }
    const double share = double(g_totals.accepted[0]) / double(g_totals.drafted[0]);
    CHECK(share > 0.3 && share < 0.9, "%.2f of the guesses were right", share);
    CHECK(g_totals.n_cancelled > g_totals.n_texts, "%ld calls were cancelled",
          g_totals.n_cancelled);
    return end();
}
