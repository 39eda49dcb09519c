// Calls on generators that fail change nothing: each allocation fails once, and each poll of a
// progress callback cancels once. Snapshots of session and generator stay, and so does what it says
// afterwards. Damaged snapshots are refused.
// usage: generator_failures MODEL
// SPDX-License-Identifier: MIT
#include "generator_calls.hpp"

extern "C" {
#include "fault.h"
#include "test_step.h"
}

#include <functional>

namespace {

constexpr uint32_t kContext = 96;

struct Demo {
    fault memory;
    ggufx_file *file = nullptr;
    ggufx_model *model = nullptr;
    ggufx_tokenizer *tokenizer = nullptr;
    ggufx_grammar *grammar = nullptr;
    ggufx_chat_template *chat = nullptr;
    uint32_t n_vocab = 0;
};
Demo g;

ggufx_session *new_crowd(uint32_t n_sequences = 2) {
    ggufx_error error;
    CrowdMode mode = {.n_sequences = n_sequences, .n_context = kContext, .n_batch = 8};
    mode.matmul_flags = 0;
    ggufx_session *const out = make_session(g.model, mode, &error);
    if (!out) must(error.status, error, "session");
    return out;
}

std::vector<uint8_t> saved(const ggufx_session *session) {
    SnapshotFile file;
    ggufx_error error;
    must(ggufx_session_save(session, GGUFX_ALL_SEQUENCES, SnapshotFile::write, &file, &error),
         error, "save");
    return file.bytes;
}

constexpr const char *kMessages = R"([{"role":"user","content":"Hello, who is there?"}])";

// Settings of a case for its generator.
struct Case {
    const char *name;
    bool grammar, messages, drafts, scores;
};
constexpr Case kCases[] = {{"plain", false, false, false, false},
                           {"grammar", true, false, false, true},
                           {"messages", false, true, false, false},
                           {"drafts", false, false, true, false}};

ggufx_draft_options lookup() {
    ggufx_draft_options out = {};
    out.struct_size = sizeof out;
    out.n_match = 1;
    return out;
}
const ggufx_draft_options g_lookup = lookup();

GeneratorMode mode_of(const Case &of) {
    GeneratorMode mode = {.flags = GGUFX_GENERATOR_IGNORE_EOG,
                          .max_tokens = 14,
                          .n_logprobs = 2,
                          .temperature = 0.8f,
                          .seed = 3};
    if (of.scores) mode.flags |= GGUFX_GENERATOR_SCORE_PROMPT;
    if (!of.grammar) mode.stops = {"zz", ". x"};
    mode.tokenizer = g.tokenizer;
    mode.grammar = of.grammar ? g.grammar : nullptr;
    mode.chat = g.chat;
    mode.draft = of.drafts ? &g_lookup : nullptr;
    return mode;
}

ggufx_status set_prompt(ggufx_generator *generator, const Case &of, ggufx_error *error) {
    ggufx_chat_request request;
    request = {};
    request.struct_size = sizeof request;
    request.flags = GGUFX_CHAT_GENERATE;
    request.messages_json = text_of(kMessages);
    ggufx_prompt prompt = {};
    prompt.struct_size = sizeof prompt;
    if (of.messages)
        prompt.messages = &request;
    else
        prompt.text = text_of("Once upon a time there was a dog");
    return ggufx_generator_set_prompt(generator, &prompt, error);
}

// One call, and the status that it fails with until it is left in peace.
using CallOn =
    std::function<ggufx_status(ggufx_generator *, const ggufx_progress *, ggufx_error *)>;

// Calls with the k-th allocation failing, then the k-th poll cancelling, for each k.
void fail_each(const char *name, ggufx_session *session, Gen &one, bool polls, const CallOn &call) {
    const auto before = saved(session), state = one.saved();
    const long step = polls ? 1 : long(test_step());
    for (long n = 1; n < 100000; n += step) {
        ggufx_error error = {};
        Countdown countdown(static_cast<int>(polls ? n : 0));
        fault_reset(&g.memory);
        g.memory.fail_at = polls ? 0 : n;
        const ggufx_status status =
            call(one.handle(), polls ? &countdown.progress : nullptr, &error);
        g.memory.fail_at = 0;
        if (status == GGUFX_OK) return;
        CHECK(status == (polls ? GGUFX_E_CANCELLED : GGUFX_E_MEMORY) && error.message[0],
              "%s: failure %ld: %s", name, n, error.message);
        CHECK(saved(session) == before && one.saved() == state, "%s: failure %ld changed something",
              name, n);
    }
    CHECK(false, "%s: never succeeds", name);
}

ggufx_status step(ggufx_session *session, ggufx_generator *generator,
                  const ggufx_progress *progress, ggufx_error *error) {
    ggufx_step_item item = {};
    item.struct_size = sizeof item;
    item.generator = generator;
    item.n_tokens = 6;
    ggufx_step_options options = {};
    options.struct_size = sizeof options;
    options.progress = progress;
    return ggufx_session_step(nullptr, session, &item, 1, &options, error);
}

std::string undisturbed(const Case &of) {
    ggufx_session *const session = new_crowd();
    std::string out;
    {
        Gen one(session, g.n_vocab, mode_of(of));
        ggufx_error error;
        must(set_prompt(one.handle(), of, &error), error, "prompt");
        while (!one.poll()) must(step(session, one.handle(), nullptr, &error), error, "step");
        out = one.told();
    }
    ggufx_session_destroy(session);
    return out;
}

void test_case(const Case &of, bool polls) {
    const std::string wanted = undisturbed(of);
    ggufx_session *const session = new_crowd();
    {
        Gen one(session, g.n_vocab, mode_of(of));
        fail_each(of.name, session, one, false,
                  [&](ggufx_generator *generator, const ggufx_progress *, ggufx_error *error) {
                      return set_prompt(generator, of, error);
                  });
        bool ended = false;
        for (int i = 0; !ended; i++) {
            fail_each(
                of.name, session, one, polls,
                [&](ggufx_generator *generator, const ggufx_progress *progress,
                    ggufx_error *error) { return step(session, generator, progress, error); });
            if (i % 3) ended = one.poll(); // events of several steps wait
        }
        CHECK(one.told() == wanted, "%s: after failures\n%sinstead of\n%s", of.name,
              one.told().c_str(), wanted.c_str());
    }
    ggufx_session_destroy(session);
}

// Fork, truncation, suspension and loads with each allocation failing.
void test_edits(const Case &of) {
    ggufx_session *const session = new_crowd(3);
    ggufx_error error;
    {
        Gen one(session, g.n_vocab, mode_of(of));
        must(set_prompt(one.handle(), of, &error), error, "prompt");
        for (int i = 0; i < 12; i++)
            must(step(session, one.handle(), nullptr, &error), error, "step");
        ggufx_fork_options options = {};
        options.struct_size = sizeof options;
        options.sequence = 1;
        ggufx_generator *made = nullptr;
        fail_each("fork", session, one, false,
                  [&](ggufx_generator *generator, const ggufx_progress *, ggufx_error *e) {
                      return ggufx_generator_fork(&made, generator, &options, e);
                  });
        Gen fork(made);
        CHECK(fork.tokens() == one.tokens(), "%s: a fork has other tokens", of.name);
        SnapshotFile file{one.saved()};
        fail_each("load", session, one, false,
                  [&](ggufx_generator *, const ggufx_progress *, ggufx_error *e) {
                      GeneratorMode mode = mode_of(of);
                      mode.sequence = 2;
                      const long fail_at = g.memory.fail_at;
                      g.memory.fail_at = 0;
                      const GeneratorOptions of_load(g.n_vocab, mode);
                      fault_reset(&g.memory);
                      g.memory.fail_at = fail_at;
                      file.at = 0;
                      return ggufx_generator_load(&made, session, &of_load, SnapshotFile::read,
                                                  &file, e);
                  });
        Gen loaded(made);
        CHECK(loaded.tokens() == one.tokens(), "%s: loaded other tokens", of.name);
        must(ggufx_generator_suspend(one.handle(), &error), error, "suspend");
        must(ggufx_generator_resume(nullptr, one.handle(), 0, &error), error, "resume");
        const uint64_t n = one.facts().n_prompt + 1;
        fail_each("truncate", session, one, false,
                  [&](ggufx_generator *generator, const ggufx_progress *, ggufx_error *e) {
                      return ggufx_generator_truncate(generator, n, e);
                  });
        CHECK(one.tokens().size() == n, "%s: truncated to %zu tokens", of.name,
              one.tokens().size());
    }
    ggufx_session_destroy(session);
}

// Every cut and every flipped byte of a snapshot is refused; the session stays as it was.
void test_damage() {
    ggufx_session *const session = new_crowd();
    ggufx_error error;
    {
        Gen one(session, g.n_vocab, mode_of(kCases[0]));
        must(set_prompt(one.handle(), kCases[0], &error), error, "prompt");
        for (int i = 0; i < 14; i++)
            must(step(session, one.handle(), nullptr, &error), error, "step");
        const std::vector<uint8_t> bytes = one.saved(), before = saved(session);
        GeneratorMode mode = mode_of(kCases[0]);
        mode.sequence = 1;
        const GeneratorOptions options(g.n_vocab, mode);
        const auto load = [&](const std::vector<uint8_t> &from) {
            SnapshotFile file{from};
            ggufx_generator *made = nullptr;
            const ggufx_status status =
                ggufx_generator_load(&made, session, &options, SnapshotFile::read, &file, &error);
            CHECK((made != nullptr) == (status == GGUFX_OK), "a generator after a failure");
            ggufx_generator_destroy(made);
            return status;
        };
        CHECK(load(bytes) == GGUFX_OK, "%s", error.message);
        for (size_t n = 0; n < bytes.size(); n++)
            CHECK(load({bytes.begin(), bytes.begin() + long(n)}) == GGUFX_E_TRUNCATED,
                  "%zu bytes of %zu: %s", n, bytes.size(), error.message);
        for (size_t i = 0; i < bytes.size(); i++) {
            std::vector<uint8_t> damaged = bytes;
            damaged[i] ^= static_cast<uint8_t>(1u << i % 8);
            const ggufx_status status = load(damaged);
            CHECK(status != GGUFX_OK && status != GGUFX_E_INTERNAL, "byte %zu: %d", i, status);
        }
        CHECK(saved(session) == before, "a refused snapshot changed the session");
        GeneratorMode other = mode;
        other.max_tokens++;
        const GeneratorOptions others(g.n_vocab, other);
        SnapshotFile file{bytes};
        ggufx_generator *made = nullptr;
        CHECK(ggufx_generator_load(&made, session, &others, SnapshotFile::read, &file, &error) ==
                  GGUFX_E_MISMATCH,
              "other options: %s", error.message);
    }
    ggufx_session_destroy(session);
}

void make_parts() {
    ggufx_error error;
    const char schema[] = R"({"type":"array","items":{"type":"integer"}})";
    ggufx_grammar_options options;
    options = {};
    options.struct_size = sizeof options;
    options.kind = GGUFX_GRAMMAR_JSON_SCHEMA;
    options.text = text_of(schema);
    must(ggufx_grammar_create(&g.grammar, g_runtime, g.tokenizer, &options, &error), error,
         "grammar");
    ggufx_chat_template_options of;
    of = {};
    of.struct_size = sizeof of;
    of.format = text_of("chatml");
    must(ggufx_chat_template_create(&g.chat, g_runtime, nullptr, &of, &error), error, "chat");
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 2) return 77;
    fault_init(&g.memory);
    g_runtime = fault_runtime(&g.memory, 1);
    ggufx_error error;
    must(ggufx_open(&g.file, g_runtime, argv[1], nullptr, &error), error, "open");
    must(ggufx_model_create(&g.model, g_runtime, g.file, nullptr, &error), error, "model");
    must(ggufx_tokenizer_create(&g.tokenizer, g.file, &error), error, "tokenizer");
    g.n_vocab = facts_of(g.model).n_vocab;
    make_parts();
    for (const Case &of : kCases) {
        test_case(of, false);
        test_case(of, true);
        test_edits(of);
    }
    test_damage();
    ggufx_chat_template_destroy(g.chat);
    ggufx_grammar_destroy(g.grammar);
    ggufx_tokenizer_destroy(g.tokenizer);
    ggufx_model_destroy(g.model);
    ggufx_file_destroy(g.file);
    const int result = end();
    if (g.memory.live) fprintf(stderr, "%ld blocks left\n", g.memory.live);
    return result || g.memory.live != 0;
}
