// A long text's bits do not depend on its split into calls and batches, nor on earlier truncations.
// Cancelled, failed or rolled back calls leave no trace. Models with windows, shared KV layers,
// sinks, recurrent states, latent attention.
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

constexpr size_t kTokens = 320;
constexpr uint32_t kContext = 448; // includes tokens of lost calls
// Sessions keep some hundred tokens before a window for truncations; with this many tokens pages
// have been dropped.
constexpr size_t kManyTokens = 500;

constexpr const char *kFiles[] = {"deepseek2-legacy", "deepseek2-lite", "deepseek2-v3", "gemma3",
                                  "gemma4",           "gpt-oss",        "llama3",       "qwen35",
                                  "granitehybrid",    "mamba2"};

struct CacheType {
    const char *name;
    uint32_t type;
};
constexpr CacheType kTypes[] = {
    {"F16", GGUFX_TYPE_F16}, {"Q8_0", GGUFX_TYPE_Q8_0}, {"GX4", GGUFX_TYPE_GX4}};

// An executor that runs all tasks on one thread, as several workers in turn, and fails at a chosen
// call.
struct Executor {
    static constexpr uint32_t kWorkers = 3;
    long calls = 0, fail_at = 0;
    ggufx_executor hooks = {};
    ggufx_runtime *runtime = nullptr;

    explicit Executor(int32_t isa) {
        hooks.struct_size = sizeof hooks;
        hooks.max_workers = kWorkers;
        hooks.user = this;
        hooks.parallel_for = run;
        ggufx_runtime_options options = {};
        options.struct_size = sizeof options;
        options.executor = &hooks;
        options.isa = isa;
        ggufx_error error;
        must(ggufx_runtime_create(&runtime, &options, &error), error, "runtime");
    }
    Executor(const Executor &) = delete;
    ~Executor() { ggufx_runtime_destroy(runtime); }

    static ggufx_status run(void *user, uint32_t n, void (*task)(void *, uint32_t, uint32_t),
                            void *context) {
        Executor &self = *static_cast<Executor *>(user);
        const bool fails = ++self.calls == self.fail_at;
        for (uint32_t i = 0; i < (fails ? n / 2 : n); i++) task(context, i, i % kWorkers);
        return fails ? GGUFX_E_INTERNAL : GGUFX_OK;
    }
};

// One model with one cache type.
class Cuts {
public:
    Cuts(const Opened &opened, Executor &executor, const std::string &name, const CacheType &type)
        : model_(opened.model), executor_(executor),
          name_(name + ", " + type.name), mode_{GGUFX_MATMUL_BATCH_INVARIANT, type.type, type.type,
                                                kContext, 0},
          tokens_(random_ids(kTokens, vocabulary_of(model_), 11)),
          others_(random_ids(kContext - kTokens, vocabulary_of(model_), 12)),
          want_(Session(model_, mode_).decode(tokens_)), n_vocab_(vocabulary_of(model_)) {}

    // scalar: the same model on the scalar kernels, which gives the same bits.
    void run(const Opened &scalar) {
        for (const uint32_t n : {100u, 64u, 37u, 5u, 1u}) batches(n);
        for (uint64_t seed = 1; seed <= 3; seed++) pieces(seed);
        cancelled();
        failed();
        for (const size_t n : {0u, 1u, 63u, 64u, 65u, 200u, 255u, 256u, 257u, 303u, 304u})
            truncated(n);
        for (uint64_t seed = 1; seed <= 2; seed++) back_and_forth(seed);
        replay_is_cancelled();
        replay_fails();
        replay_is_not_shown();
        if (has_windows()) far_back();
        if (mode_.type_k != GGUFX_TYPE_Q8_0) return;
        model_ = scalar.model;
        scalar_goes_back();
    }

private:
    Mode with(uint32_t n_batch) const {
        Mode mode = mode_;
        mode.n_batch = n_batch;
        return mode;
    }
    // Decodes tokens first .. end - 1, which must give the rows of the fresh run.
    void go_on(Session &session, size_t first, size_t end, const char *how);
    void back_to(Session &session, size_t n, const char *how);
    void check_unchanged(Session &session, size_t n, const char *how);

    void batches(uint32_t n);
    void pieces(uint64_t seed);
    void lose_a_call(Session &session, size_t done, Random &random);
    void cancelled();
    long count_calls(size_t first);
    void failed();
    void truncated(size_t n);
    void back_and_forth(uint64_t seed);
    void replay_is_cancelled();
    void replay_fails();
    void replay_is_not_shown();

    bool has_windows() const;
    void far_back();
    void scalar_goes_back();

    const ggufx_model *model_;
    Executor &executor_;
    const std::string name_;
    const Mode mode_;
    const Ids tokens_, others_;
    const std::vector<float> want_; // [kTokens][n_vocab]
    const size_t n_vocab_;
};

int32_t countdown(void *user, uint64_t, uint64_t) {
    return --*static_cast<int *>(user) == 0;
}

void Cuts::go_on(Session &session, size_t first, size_t end, const char *how) {
    const std::vector<float> got = session.decode(tokens_.data() + first, end - first);
    const bool same = memcmp(got.data(), &want_[first * n_vocab_], got.size() * sizeof(float)) == 0;
    CHECK(same, "%s, %s: other bits in tokens %zu to %zu", name_.c_str(), how, first, end);
}

void Cuts::check_unchanged(Session &session, size_t n, const char *how) {
    CHECK(ggufx_session_length(session.handle(), 0) == n, "%s, %s: %llu tokens, not %zu",
          name_.c_str(), how,
          static_cast<unsigned long long>(ggufx_session_length(session.handle(), 0)), n);
}

void Cuts::back_to(Session &session, size_t n, const char *how) {
    ggufx_error error = {};
    const ggufx_status status = ggufx_session_truncate(session.handle(), 0, n, &error);
    const uint64_t left = ggufx_session_length(session.handle(), 0);
    CHECK(status == GGUFX_OK && left == n, "%s, %s, to %zu: %llu tokens are left: %s",
          name_.c_str(), how, n, static_cast<unsigned long long>(left), error.message);
}

void Cuts::batches(uint32_t n) {
    Session session(model_, with(n));
    go_on(session, 0, kTokens, ("batches of " + std::to_string(n)).c_str());
}

// Decodes other tokens in a call that is cancelled or truncated.
void Cuts::lose_a_call(Session &session, size_t done, Random &random) {
    int polls = static_cast<int>(1 + random.below(40));
    ggufx_progress progress = {};
    progress.user = &polls;
    progress.report = countdown;
    ggufx_decode_options options = {};
    options.progress = &progress;
    const size_t n = 1 + random.below(others_.size());
    ggufx_error error;
    const ggufx_status status =
        decode_with(session.handle(), others_.data(), n, 0, &options, &error);
    CHECK(status == GGUFX_OK || status == GGUFX_E_CANCELLED, "%s: %s", name_.c_str(),
          error.message);
    if (status != GGUFX_OK) return check_unchanged(session, done, "cancelled");
    back_to(session, done, "a lost call");
}

// Calls of random sizes; before many of them another call that is lost.
void Cuts::pieces(uint64_t seed) {
    static constexpr uint32_t sizes[] = {0, 64, 37, 5};
    Random random = {seed};
    Session session(model_, with(sizes[seed % 4]));
    for (size_t done = 0; done < kTokens;) {
        if (random.below(3) == 0) lose_a_call(session, done, random);
        const size_t most = random.below(3) ? 9 : 120;
        const size_t end = std::min(kTokens, done + 1 + random.below(most));
        go_on(session, done, end, "pieces");
        done = end;
    }
}

struct StopAfter {
    uint64_t tokens;
    uint64_t seen = 0;
};

int32_t stop_after(void *user, uint64_t done, uint64_t) {
    StopAfter &stop = *static_cast<StopAfter *>(user);
    stop.seen = std::max(stop.seen, done);
    return done >= stop.tokens;
}

// Cancels in the third batch of five.
void Cuts::cancelled() {
    constexpr size_t first = 20, batch = 60;
    Session session(model_, with(batch));
    go_on(session, 0, first, "before a cancelled call");
    StopAfter stop = {2 * batch + batch / 3};
    ggufx_progress progress = {};
    progress.user = &stop;
    progress.report = stop_after;
    ggufx_decode_options options = {};
    options.progress = &progress;
    ggufx_error error = {};
    const ggufx_status status =
        decode_with(session.handle(), tokens_.data() + first, kTokens - first, 0, &options, &error);
    CHECK(status == GGUFX_E_CANCELLED, "%s: not cancelled: %s", name_.c_str(), error.message);
    CHECK(stop.seen < 3 * batch, "%s: cancelled after %llu tokens", name_.c_str(),
          static_cast<unsigned long long>(stop.seen));
    check_unchanged(session, first, "cancelled in the third batch");
    go_on(session, first, kTokens, "after a cancelled call");
}

long Cuts::count_calls(size_t first) {
    Session session(model_, with(60));
    go_on(session, 0, first, "counted");
    executor_.calls = 0;
    go_on(session, first, kTokens, "counted");
    return executor_.calls;
}

// The executor fails at its first call, its last one and some between. Appending to a cache falls
// back to the calling thread, so the call may succeed.
void Cuts::failed() {
    constexpr size_t first = 70;
    const long calls = count_calls(first);
    CHECK(calls > 20, "%s: %ld calls of the executor", name_.c_str(), calls);
    long n_failed = 0;
    constexpr long last = 6;
    for (long i = 0; i <= last; i++) {
        Session session(model_, with(60));
        go_on(session, 0, first, "before a failed call");
        executor_.calls = 0;
        executor_.fail_at = std::max(1L, calls * i / last);
        ggufx_error error = {};
        std::vector<float> logits((kTokens - first) * n_vocab_);
        const ggufx_status status =
            decode_all(session.handle(), tokens_.data() + first, kTokens - first, logits.data(),
                       logits.size(), &error);
        executor_.fail_at = 0;
        n_failed += status != GGUFX_OK;
        check_unchanged(session, status == GGUFX_OK ? kTokens : first, "failed");
        if (status != GGUFX_OK) go_on(session, first, kTokens, "after a failed call");
    }
    CHECK(n_failed > 2, "%s: only %ld calls failed", name_.c_str(), n_failed);
}

void Cuts::truncated(size_t n) {
    constexpr size_t length = 304;
    Session session(model_, with(100));
    go_on(session, 0, length, "before a cut");
    back_to(session, n, "a cut");
    go_on(session, n, kTokens, "after a cut");
}

// Truncations to any length, some twice in a row, with calls of any size between them.
void Cuts::back_and_forth(uint64_t seed) {
    Random random = {seed + 100};
    Session session(model_, with(seed % 2 ? 50 : 0));
    size_t done = 0;
    for (int i = 0; i < 14 || done < kTokens; i++) {
        const size_t end = std::min(kTokens, done + 1 + random.below(random.below(2) ? 150 : 6));
        if (done < end) go_on(session, done, end, "between cuts");
        done = end;
        for (size_t cuts = i < 14 ? random.below(3) : 0; cuts > 0; cuts--) {
            done -= random.below((random.below(3) ? std::min(done, size_t{20}) : done) + 1);
            back_to(session, done, "one of many cuts");
        }
    }
}

// Truncates within the page that ends at 192, which is quantized, after the state at 128. The next
// call, which recomputes tokens, is cancelled at each poll; after another truncation the bits are
// right.
void Cuts::replay_is_cancelled() {
    constexpr size_t length = 300, n = 250;
    Session session(model_, with(32));
    go_on(session, 0, length, "before a cancelled replay");
    back_to(session, n, "before a cancelled replay");
    ggufx_status status = GGUFX_E_CANCELLED;
    for (int polls = 1; status != GGUFX_OK; polls = 2 * polls + 1) {
        int left = polls;
        ggufx_progress progress = {};
        progress.user = &left;
        progress.report = countdown;
        ggufx_decode_options options = {};
        options.struct_size = sizeof options;
        options.progress = &progress;
        status = decode_with(session.handle(), &tokens_[n], 3, 0, &options, nullptr);
        CHECK(status == GGUFX_OK || status == GGUFX_E_CANCELLED, "%s: %d", name_.c_str(), status);
        const uint64_t have = ggufx_session_length(session.handle(), 0);
        CHECK(have == (status == GGUFX_OK ? n + 3 : n), "%s: %llu tokens after a cancelled replay",
              name_.c_str(), static_cast<unsigned long long>(have));
    }
    check_unchanged(session, n + 3, "after a cancelled replay");
    back_to(session, n - 7, "after a cancelled replay");
    go_on(session, n - 7, kTokens, "after a cancelled replay");
}

void Cuts::replay_fails() {
    constexpr size_t length = 300, n = 250;
    long n_failed = 0;
    for (const long fail_at : {1L, 9L, 40L}) {
        Session session(model_, with(60));
        go_on(session, 0, length, "before a failed replay");
        back_to(session, n, "before a failed replay");
        executor_.calls = 0;
        executor_.fail_at = fail_at;
        const ggufx_status status =
            decode_ids(session.handle(), &tokens_[n], 40, nullptr, 0, nullptr);
        executor_.fail_at = 0;
        n_failed += status != GGUFX_OK;
        const uint64_t have = ggufx_session_length(session.handle(), 0);
        CHECK(have == (status == GGUFX_OK ? n + 40 : n), "%s: %llu tokens after a failed replay",
              name_.c_str(), static_cast<unsigned long long>(have));
        if (status != GGUFX_OK) go_on(session, n, n + 40, "after a failed replay");
        go_on(session, n + 40, kTokens, "after a failed replay");
    }
    CHECK(n_failed > 0, "%s: no call failed", name_.c_str());
}

// Progress and attention hooks of a decode that recomputes tokens: they see its own three tokens
// only.
struct Shown {
    uint64_t first, done = 0;
    long layers = 0, polls = 0;
    bool odd = false;

    static int32_t layer(void *user, uint32_t, uint64_t first_token, size_t n, const float *,
                         const float *, const float *, const float *) {
        Shown &self = *static_cast<Shown *>(user);
        self.layers++;
        self.odd |= first_token != self.first || n != 3;
        return 0;
    }
    static int32_t poll(void *user, uint64_t done, uint64_t total) {
        Shown &self = *static_cast<Shown *>(user);
        self.polls++;
        self.odd |= total != 3 || done > 3 || done < self.done;
        self.done = done;
        return 0;
    }
};

void Cuts::replay_is_not_shown() {
    constexpr size_t length = 150, n = 90;
    long polls[2], layers[2];
    for (const bool again : {false, true}) {
        Session session(model_, with(32));
        go_on(session, 0, again ? length : n, "before a watched call");
        if (again) back_to(session, n, "before a watched call");
        Shown shown = {n};
        ggufx_progress progress = {};
        progress.user = &shown;
        progress.report = Shown::poll;
        ggufx_attention_hook hook = {};
        hook.struct_size = sizeof hook;
        hook.user = &shown;
        hook.layer = Shown::layer;
        ggufx_decode_options options = {};
        options.struct_size = sizeof options;
        options.progress = &progress;
        options.attention = &hook;
        ggufx_error error = {};
        const ggufx_status status =
            decode_with(session.handle(), &tokens_[n], 3, 0, &options, &error);
        CHECK(status == GGUFX_OK && !shown.odd, "%s: watched: %s", name_.c_str(), error.message);
        check_unchanged(session, n + 3, "watched");
        polls[again] = shown.polls;
        layers[again] = shown.layers;
    }
    const bool attends = name_.find("mamba2") != 0;
    CHECK(layers[0] == layers[1] && (layers[0] > 0) == attends, "%s: %ld layers shown, %ld",
          name_.c_str(), layers[0], layers[1]);
    const bool more = mode_.type_k != GGUFX_TYPE_F16; // F16 caches have nothing to recompute
    CHECK(more ? polls[1] > polls[0] : polls[1] >= polls[0], "%s: %ld polls, %ld", name_.c_str(),
          polls[0], polls[1]);
}

bool Cuts::has_windows() const {
    ggufx_layer_facts facts = {};
    facts.struct_size = sizeof facts;
    for (uint32_t i = 0; ggufx_model_layer_info(&facts, model_, i, nullptr) == GGUFX_OK; i++)
        if (facts.window) return true;
    return false;
}

// Truncations beyond the window, into the first tokens, after page ends, and as far as the window
// reaches.
void Cuts::far_back() {
    const Ids ids = random_ids(kManyTokens, n_vocab_, 13);
    Mode mode = with(0);
    mode.n_context = kManyTokens;
    const std::vector<float> want = Session(model_, mode).decode(ids);
    mode.n_batch = 120;
    Session session(model_, mode);
    const auto decode = [&](size_t first, size_t end, const char *how) {
        const size_t n = end - first;
        const std::vector<float> got = session.decode(ids.data() + first, n);
        CHECK(memcmp(got.data(), &want[first * n_vocab_], n * n_vocab_ * sizeof(float)) == 0,
              "%s, %s %zu: other bits", name_.c_str(), how, first);
    };
    decode(0, kManyTokens, "in batches, from");
    struct {
        size_t cut, end;
    } const turns[] = {{450, kManyTokens}, {130, 160}, {66, 100}, {5, kManyTokens}, {257, 280}};
    for (const auto &turn : turns) {
        back_to(session, turn.cut, "far back");
        decode(turn.cut, turn.end, "far back to");
    }
    back_to(session, 210, "far back");
    back_to(session, 20, "far back");
    decode(20, 50, "far back in two cuts to");
}

// Truncates into the page that ends at 64, which is quantized.
void Cuts::scalar_goes_back() {
    Session session(model_, with(50));
    go_on(session, 0, 130, "scalar");
    back_to(session, 90, "scalar");
    go_on(session, 90, 135, "scalar, after a cut");
}

bool takes(const ggufx_model *model, uint32_t type) {
    ggufx_session_options options = {};
    options.struct_size = sizeof options;
    options.n_context = 64;
    options.flags = GGUFX_SESSION_HAS_TYPE_K | GGUFX_SESSION_HAS_TYPE_V;
    options.type_k = options.type_v = type;
    ggufx_session *session = nullptr;
    const ggufx_status status = ggufx_session_create(&session, model, &options, nullptr);
    ggufx_session_destroy(session);
    return status == GGUFX_OK;
}

void test_file(const TinyFile &file, Executor &executor, Executor &scalar, size_t *done) {
    Opened opened(file.path), again(file.path);
    ggufx_error error;
    must(ggufx_model_create(&opened.model, executor.runtime, opened.file, nullptr, &error), error,
         file.path.c_str());
    must(ggufx_model_create(&again.model, scalar.runtime, again.file, nullptr, &error), error,
         file.path.c_str());
    for (const CacheType &type : kTypes) {
        if (!takes(opened.model, type.type)) {
            printf("%s: heads of other sizes than %s takes\n", file.name.c_str(), type.name);
            CHECK(type.type != GGUFX_TYPE_F16, "%s: no F16 cache", file.name.c_str());
            continue;
        }
        if ((*done)++ % test_step() == 0) Cuts(opened, executor, file.name, type).run(again);
    }
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    Executor executor(0), scalar(GGUFX_ISA_SCALAR);
    size_t n_files = 0, done = 0;
    for (const TinyFile &file : tiny_files()) {
        const auto is_it = [&](const char *name) { return file.name == name; };
        if (std::none_of(std::begin(kFiles), std::end(kFiles), is_it)) continue;
        n_files++;
        test_file(file, executor, scalar, &done);
    }
    CHECK(n_files == std::size(kFiles), "%zu of the models were found", n_files);
    return end();
}
