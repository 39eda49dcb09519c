// Events of generators of all tiny models: whatever runs beside them, and however their work is cut
// into calls, they say the same to the bit. Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "generator_calls.hpp"
#include "rank.hpp"

#include <algorithm>
#include <atomic>

extern "C" {
#include "test_step.h"
}

namespace {

constexpr uint32_t kContext = 128;

struct Model {
    const ggufx_model *model;
    uint32_t n_vocab;
    std::string name;

    ggufx_session *session(uint32_t n_sequences, uint32_t type = GGUFX_TYPE_F16) const {
        CrowdMode mode = {
            .n_sequences = n_sequences, .n_context = kContext, .n_batch = 16, .type = type};
        mode.matmul_flags = 0;
        ggufx_error error;
        ggufx_session *out = make_session(model, mode, &error);
        if (!out) must(error.status, error, "session");
        return out;
    }
    Ids ids(size_t i) const { return random_ids(9 + 5 * (i % 5), n_vocab, 11 + i); }
    GeneratorMode mode(size_t i) const {
        return {.flags = GGUFX_GENERATOR_IDS_ONLY | GGUFX_GENERATOR_LOGPROBS,
                .max_tokens = 12 + static_cast<uint32_t>(i % 7),
                .n_logprobs = i % 2 ? 3u : 0u,
                .temperature = i % 3 ? 0.9f : 0.0f,
                .seed = 7 + i};
    }
};

std::string alone(const Model &model, size_t i, const ggufx_step_options *options = nullptr) {
    ggufx_session *const session = model.session(1);
    std::string out;
    {
        Gen one(session, model.n_vocab, model.mode(i));
        one.prompt(model.ids(i));
        out = one.run(options);
    }
    ggufx_session_destroy(session);
    return out;
}

void together(const Model &model, const std::vector<std::string> &wanted, size_t n, uint32_t chunk,
              uint64_t budget_us) {
    ggufx_session *const session = model.session(static_cast<uint32_t>(n));
    {
        std::vector<std::unique_ptr<Gen>> all;
        std::vector<Gen *> list;
        for (size_t i = 0; i < n; i++) {
            GeneratorMode mode = model.mode(i);
            mode.sequence = static_cast<uint32_t>(n - 1 - i);
            all.push_back(std::make_unique<Gen>(session, model.n_vocab, mode));
            all.back()->prompt(model.ids(i));
            list.push_back(all.back().get());
        }
        run_together(session, list, chunk, budget_us);
        for (size_t i = 0; i < n; i++)
            CHECK(all[i]->told() == wanted[i],
                  "%s: %zu of %zu, chunks of %u, budget %llu:\n%sinstead of\n%s",
                  model.name.c_str(), i, n, chunk, static_cast<unsigned long long>(budget_us),
                  all[i]->told().c_str(), wanted[i].c_str());
    }
    ggufx_session_destroy(session);
}

// The prefix of another prompt changes nothing, and is not computed again.
void test_prefix(const Model &model) {
    ggufx_session *const session = model.session(1);
    const Ids first = model.ids(3);
    Ids second = first;
    for (size_t i = 0; i < 4; i++) second.push_back(first[i]);
    std::string wanted;
    {
        Gen one(session, model.n_vocab, model.mode(1));
        one.prompt(second);
        wanted = one.run();
    }
    ggufx_session *const other = model.session(1);
    {
        Gen one(other, model.n_vocab, model.mode(1));
        one.prompt(first);
        (void)one.run();
        one.forget();
        one.prompt(second);
        CHECK(one.facts().n_prompt_reused == first.size(), "%s: %zu tokens reused instead of %zu",
              model.name.c_str(), static_cast<size_t>(one.facts().n_prompt_reused), first.size());
        CHECK(one.run() == wanted, "%s: another output after a reused prefix", model.name.c_str());
        // A low-level call that changes the sequence costs only time.
        one.forget();
        one.prompt(second);
        ggufx_error error;
        ggufx_event event = {};
        event.struct_size = sizeof event;
        for (int i = 0; i < 3; i++) {
            must(ggufx_generator_next(&event, one.handle(), nullptr, &error), error, "next");
            one.take(event);
        }
        must(ggufx_session_truncate(other, 0, 2, &error), error, "truncate");
        CHECK(one.run() == wanted, "%s: another output after a truncation", model.name.c_str());
    }
    ggufx_session_destroy(session);
    ggufx_session_destroy(other);
}

// Runs one generator, with `between` after each event.
template <class Between>
std::string interrupted(const Model &model, size_t i, ggufx_session *session,
                        const Between &between) {
    Gen one(session, model.n_vocab, model.mode(i));
    one.prompt(model.ids(i));
    ggufx_event event = {};
    event.struct_size = sizeof event;
    ggufx_error error;
    while (!one.end()) {
        must(ggufx_generator_next(&event, one.handle(), nullptr, &error), error, "next");
        one.take(event);
        if (!one.end()) between(one);
    }
    return one.told();
}

// Suspended after every token: the sequence is used by others, moved, or kept.
void test_suspension(const Model &model, const std::vector<std::string> &wanted, uint32_t type) {
    ggufx_session *const session = model.session(2, type);
    uint32_t n = 0;
    ggufx_error error;
    for (const size_t i : {size_t{1}, size_t{2}}) {
        const std::string told = interrupted(model, i, session, [&](Gen &one) {
            must(ggufx_generator_suspend(one.handle(), &error), error, "suspend");
            const uint32_t state = one.facts().state; // its end may be queued
            CHECK(state == GGUFX_GENERATOR_STATE_SUSPENDED || state == GGUFX_GENERATOR_STATE_ENDED,
                  "not suspended");
            if (n++ % 3 == 0) { // another generator has both sequences
                Gen other(session, model.n_vocab, model.mode(4));
                other.prompt(model.ids(4));
                (void)other.run();
            }
            uint64_t n_reused = 0;
            must(ggufx_generator_resume(&n_reused, one.handle(), n / 2 % 2, &error), error,
                 "resume");
            CHECK(n_reused < one.tokens().size(), "%zu tokens reused", size_t(n_reused));
        });
        CHECK(told == wanted[i], "%s: suspended:\n%sinstead of\n%s", model.name.c_str(),
              told.c_str(), wanted[i].c_str());
    }
    ggufx_session_destroy(session);
}

// Saved and loaded after every token: with the caches, without them, in another session.
void test_snapshots(const Model &model, const std::vector<std::string> &wanted, uint32_t type) {
    ggufx_session *const session = model.session(1, type), *const other = model.session(1, type);
    size_t n = 0;
    ggufx_error error;
    const std::string told = interrupted(model, 1, session, [&](Gen &one) {
        SnapshotFile file{one.saved()};
        one.replace(nullptr);
        if (n++ % 2) must(ggufx_session_truncate(session, 0, 0, &error), error, "truncate");
        const GeneratorOptions options(model.n_vocab, model.mode(1));
        ggufx_generator *loaded = nullptr;
        ggufx_session *const into = n / 2 % 2 ? other : session;
        must(ggufx_generator_load(&loaded, into, &options, SnapshotFile::read, &file, &error),
             error, "load");
        one.replace(loaded);
        CHECK(file.at == file.bytes.size() && one.saved() == file.bytes,
              "%s: another snapshot after a load", model.name.c_str());
    });
    CHECK(told == wanted[1], "%s: saved:\n%sinstead of\n%s", model.name.c_str(), told.c_str(),
          wanted[1].c_str());
    ggufx_session_destroy(session);
    ggufx_session_destroy(other);
}

// Forked after every event: each fork says the rest; then the first goes on.
void test_forks(const Model &model, const std::vector<std::string> &wanted) {
    ggufx_session *const session = model.session(3);
    ggufx_error error;
    size_t n = 0;
    const std::string told = interrupted(model, 1, session, [&](Gen &one) {
        if (n++ % 3) return;
        ggufx_fork_options options = {};
        options.struct_size = sizeof options;
        options.sequence = 1;
        ggufx_generator *made = nullptr;
        must(ggufx_session_truncate(session, 1, 0, &error), error, "truncate");
        must(ggufx_generator_fork(&made, one.handle(), &options, &error), error, "fork");
        Gen fork(made);
        const std::string all = one.told() + fork.run();
        CHECK(all == wanted[1], "%s: a fork:\n%sinstead of\n%s", model.name.c_str(), all.c_str(),
              wanted[1].c_str());
    });
    CHECK(told == wanted[1], "%s: forked:\n%sinstead of\n%s", model.name.c_str(), told.c_str(),
          wanted[1].c_str());
    ggufx_session_destroy(session);
}

uint64_t g_drafted, g_accepted;
size_t g_faults;

// Drafts of each kind, alone and beside others.
void test_drafts(const Model &model, const std::vector<std::string> &wanted) {
    ggufx_session *const session = model.session(3), *const small = model.session(3);
    for (int kind = 0; kind < 3; kind++) {
        std::vector<std::unique_ptr<Gen>> all;
        std::vector<Gen *> list;
        ggufx_draft_options draft[3] = {};
        for (uint32_t i = 0; i < 3; i++) {
            draft[i].struct_size = sizeof *draft;
            draft[i].session = kind ? small : nullptr;
            draft[i].sequence = kind ? i : 0;
            draft[i].n_draft = 1 + 3 * i;
            draft[i].n_match = kind ? 0 : 1;
            GeneratorMode mode = model.mode(i);
            mode.sequence = i;
            mode.draft = draft + i;
            all.push_back(std::make_unique<Gen>(session, model.n_vocab, mode));
            all.back()->prompt(model.ids(i));
            list.push_back(all.back().get());
        }
        run_together(session, list, 0, kind == 2 ? 50 : 0);
        for (size_t i = 0; i < 3; i++) {
            CHECK(all[i]->told() == wanted[i], "%s: drafts of kind %d:\n%sinstead of\n%s",
                  model.name.c_str(), kind, all[i]->told().c_str(), wanted[i].c_str());
            g_drafted += all[i]->facts().n_drafted;
            g_accepted += all[i]->facts().n_accepted;
        }
    }
    ggufx_session_destroy(session);
    ggufx_session_destroy(small);
}

// A generator whose input makes the model compute no finite numbers ends alone.
void test_faults(const Model &model, const std::vector<std::string> &wanted) {
    ggufx_session *const session = model.session(3);
    const size_t width = facts_of(model.model).n_embedding;
    const std::vector<float> rows(2 * width, 3e38f);
    const int32_t first = 1;
    ggufx_prompt_part parts[2] = {};
    parts[0].struct_size = parts[1].struct_size = sizeof *parts;
    parts[0].tokens = &first;
    parts[0].n_tokens = 1;
    parts[1].rows = rows.data();
    parts[1].n_rows = rows.size();
    ggufx_prompt prompt = {};
    prompt.struct_size = sizeof prompt;
    prompt.parts = parts;
    prompt.n_parts = 2;
    std::vector<std::unique_ptr<Gen>> all;
    std::vector<Gen *> list;
    ggufx_error error;
    for (uint32_t i = 0; i < 3; i++) {
        GeneratorMode mode = model.mode(i);
        mode.sequence = i;
        all.push_back(std::make_unique<Gen>(session, model.n_vocab, mode));
        if (i == 1)
            must(all[i]->set(prompt, &error), error, "rows");
        else
            all[i]->prompt(model.ids(i));
        list.push_back(all[i].get());
    }
    run_together(session, list);
    for (const size_t i : {size_t{0}, size_t{2}})
        CHECK(all[i]->told() == wanted[i], "%s: beside a fault:\n%sinstead of\n%s",
              model.name.c_str(), all[i]->told().c_str(), wanted[i].c_str());
    g_faults += all[1]->end() == GGUFX_END_ERROR;
    ggufx_session_destroy(session);
}

// Scores of a prompt are the same after a suspension in their midst, to a sequence that holds the
// whole prompt. A prompt that is appended has scores of its own tokens.
void test_scores(const Model &model) {
    ggufx_session *const session = model.session(2);
    GeneratorMode mode = model.mode(1);
    mode.flags |= GGUFX_GENERATOR_SCORE_PROMPT;
    mode.max_tokens = 4;
    const Ids ids = model.ids(3);
    std::string wanted;
    ggufx_error error;
    {
        Gen one(session, model.n_vocab, mode);
        one.prompt(ids);
        wanted = one.run();
        one.forget();
        one.prompt(ids, GGUFX_PROMPT_APPEND);
        const size_t n = one.facts().n_prompt - one.facts().n_prompt_reused;
        (void)one.run();
        const std::string scores = one.told().substr(0, one.told().find('\n'));
        CHECK(n == ids.size() && size_t(std::count(scores.begin(), scores.end(), '@')) == n,
              "%s: scores of %zu tokens: %s", model.name.c_str(), n, scores.c_str());
    }
    must(ggufx_session_truncate(session, 0, 0, &error), error, "truncate");
    {
        Gen other(session, model.n_vocab, [&] {
            GeneratorMode plain = model.mode(1);
            plain.sequence = 1;
            return plain;
        }());
        other.prompt(ids);
        (void)other.run();
    }
    Gen one(session, model.n_vocab, mode);
    one.prompt(ids);
    const ggufx_step_item item = one.item(3);
    for (int i = 0; i < 2; i++)
        must(ggufx_session_step(nullptr, session, &item, 1, nullptr, &error), error, "step");
    must(ggufx_generator_suspend(one.handle(), &error), error, "suspend");
    must(ggufx_generator_resume(nullptr, one.handle(), 1, &error), error, "resume");
    CHECK(one.run() == wanted, "%s: scores after a suspension:\n%sinstead of\n%s",
          model.name.c_str(), one.told().c_str(), wanted.c_str());
    ggufx_session_destroy(session);
}

// Truncated to the prompt, it says another output; as does a fork with another seed.
void test_truncation(const Model &model) {
    ggufx_session *const session = model.session(1);
    Gen one(session, model.n_vocab, model.mode(1));
    one.prompt(model.ids(1));
    const std::string first = one.run();
    const Ids ids = one.tokens();
    ggufx_error error;
    const uint64_t n = model.ids(1).size() + 2;
    must(ggufx_generator_truncate(one.handle(), n, &error), error, "truncate");
    CHECK(one.tokens() == Ids(ids.begin(), ids.begin() + long(n)) && one.facts().n_tokens == 2,
          "%s: other tokens", model.name.c_str());
    one.forget();
    (void)one.run();
    CHECK(one.facts().n_tokens == model.mode(1).max_tokens, "%s: %zu tokens", model.name.c_str(),
          size_t(one.facts().n_tokens));
    CHECK(ggufx_generator_truncate(one.handle(), 0, &error) == GGUFX_E_ARGUMENT &&
              ggufx_generator_truncate(one.handle(), 1000, &error) == GGUFX_E_ARGUMENT,
          "truncated to no tokens");
    ggufx_generator_destroy(nullptr);
    ggufx_session_destroy(session);
}

void test_same_bits(const Model &model) {
    std::vector<std::string> wanted;
    for (size_t i = 0; i < 18; i++) wanted.push_back(alone(model, i));
    CHECK(wanted[0] != wanted[1], "%s: equal outputs", model.name.c_str());
    const ggufx_step_options budget = {sizeof budget, 0, 50, nullptr};
    CHECK(alone(model, 1, &budget) == wanted[1], "%s: other events under a budget",
          model.name.c_str());
    together(model, wanted, 2, 0, 0);
    together(model, wanted, 4, 1, 0);
    together(model, wanted, 18, 7, 0);
    together(model, wanted, 4, 0, 50);
    together(model, wanted, 4, 5, 2000);
    test_suspension(model, wanted, GGUFX_TYPE_F16);
    test_snapshots(model, wanted, GGUFX_TYPE_F16);
    test_forks(model, wanted);
    test_drafts(model, wanted);
    test_faults(model, wanted);
}

// All ranks of a group make the same calls, and say the same as one process. Steps have no budget.
void test_ranks(const TinyFile &tiny, const Model &model) {
    std::string wanted[2];
    for (size_t i = 0; i < 2; i++) wanted[i] = alone(model, i);
    ThreadGroup group(2);
    std::atomic<int> n_same = 0, n_refused = 0;
    group.run([&](uint32_t i) {
        const Rank rank(g_root + tiny.path, {.group = &group, .rank = i});
        const Model own = {rank.model(), model.n_vocab, tiny.name};
        ggufx_session *const session = own.session(2);
        {
            GeneratorMode modes[2] = {own.mode(0), own.mode(1)};
            modes[1].sequence = 1;
            Gen first(session, own.n_vocab, modes[0]), second(session, own.n_vocab, modes[1]);
            first.prompt(own.ids(0));
            second.prompt(own.ids(1));
            const ggufx_step_item item = first.item();
            const ggufx_step_options budget = {sizeof budget, 0, 50, nullptr};
            n_refused += ggufx_session_step(nullptr, session, &item, 1, &budget, nullptr) ==
                         GGUFX_E_UNSUPPORTED;
            run_together(session, {&first, &second}, 5);
            n_same += first.told() == wanted[0] && second.told() == wanted[1];
        }
        ggufx_session_destroy(session);
    });
    CHECK(n_same == 2 && n_refused == 2, "%d ranks say the same, %d refuse a budget", n_same.load(),
          n_refused.load());
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    size_t n_files = 0, done = 0;
    for (const TinyFile &file : tiny_files()) {
        if (n_files++, done++ % test_step()) continue;
        Opened opened(file.path);
        const ggufx_model *handle = opened.with_model().model;
        const Model model = {handle, facts_of(handle).n_vocab, file.name};
        test_same_bits(model);
        test_prefix(model);
        test_truncation(model);
        test_scores(model);
        if (file.name == "llama3") test_ranks(file, model);
    }
    CHECK(n_files > 30, "%zu models", n_files);
    CHECK(g_faults > 3 || test_step() > 1, "%zu generators ended by a fault", g_faults);
    CHECK(g_drafted > 100 && g_accepted > 50, "%zu of %zu drafts accepted", size_t(g_accepted),
          size_t(g_drafted));
    return end();
}
