// Steps of a session, through internals: decode calls that pause between groups of operations.
// Wherever they pause, results and snapshots have the bits of one call; abandoned at any place,
// they leave the session as it was. A budget decides the chunks of a prompt.
// Runs the tiny models of GGUFX_TEST_MODELS.
// SPDX-License-Identifier: MIT
#include "batch_calls.hpp"
#include "fault_model.hpp"
#include "rank.hpp"

#include "../state/memory_file.hpp"
#include "abi/model_handles.hpp"

extern "C" {
#include "test_step.h"
}

#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>

namespace {

using ggufx::Failure;
using ggufx::Status;
using ggufx::model::BatchItem;
using ggufx::model::BatchOptions;
using ggufx::model::StepOptions;

constexpr uint32_t kSequences = 4, kContext = 128, kBatch = 12;
constexpr uint32_t kTypes[] = {GGUFX_TYPE_F16, GGUFX_TYPE_Q8_0, GGUFX_TYPE_GX4};
constexpr uint32_t kFlags[] = {GGUFX_MATMUL_BATCH_INVARIANT, GGUFX_MATMUL_TILED, 0};
constexpr uint64_t kMicrosecond = 1000;

ggufx::model::Session &inner(const ggufx_session *session) {
    return const_cast<ggufx_session *>(session)->session;
}

// A clock whose readings are `tick` apart and that jumps by a microsecond, a whole budget, after
// some groups.
struct TestClock {
    uint64_t groups, tick = 0, readings = 0;
    static uint64_t now(void *user) {
        auto &self = *static_cast<TestClock *>(user);
        const uint64_t n = self.readings++;
        return n * self.tick + (n >= self.groups ? kMicrosecond : 0);
    }
    StepOptions options() { return {.progress = {}, .budget_us = 1, .clock = {this, now}}; }
};

// Runs so many groups of the step in flight; returns whether that completed it.
bool advance(ggufx_session *session, uint64_t groups, uint64_t block_weights) {
    TestClock clock = {groups};
    StepOptions options = clock.options();
    options.block_weights = block_weights;
    Failure failure{};
    bool complete = false;
    const Status status = inner(session).advance_step(options, &complete, &failure);
    CHECK(status == Status::ok, "advance: %s", failure.message);
    CHECK(complete || clock.readings == groups + 1, "%llu groups instead of %llu",
          static_cast<unsigned long long>(clock.readings - 1),
          static_cast<unsigned long long>(groups));
    return complete || status != Status::ok;
}

std::vector<uint8_t> saved(const ggufx_session *session) {
    MemoryFile file;
    Failure failure{};
    const Status status =
        inner(session).save(ggufx::model::kAllSequences, MemoryFile::write, &file, &failure);
    CHECK(status == Status::ok, "save: %s", failure.message);
    return file.bytes;
}

// All that a failed or abandoned call must leave as it was.
struct Look {
    std::vector<uint8_t> snapshot;
    std::vector<uint64_t> lengths; // lengths of sequences, and their nearest cuts
    ggufx_session_facts memory = {};

    explicit Look(const ggufx_session *session) : snapshot(saved(session)) {
        const auto &caches = inner(session).caches();
        for (uint32_t i = 0; i < kSequences; i++) {
            lengths.push_back(ggufx_session_length(session, i));
            for (uint64_t n = 0; n <= caches.length(i); n++)
                lengths.push_back(caches.nearest(i, n));
        }
        memory.struct_size = sizeof memory;
        ggufx_error error;
        must(ggufx_session_info(&memory, session, &error), error, "memory");
        memory.cache_bytes = memory.n_pages = 0; // with free pages, which may stay allocated
    }
    // Returns the part that differs, or null.
    const char *difference(const Look &o) const {
        if (snapshot != o.snapshot) return "the snapshot";
        if (lengths != o.lengths) return "a length";
        return memcmp(&memory, &o.memory, sizeof memory) != 0 ? "the memory" : nullptr;
    }
    bool operator==(const Look &o) const { return !difference(o); }
};

struct Inputs {
    std::vector<BatchItem> items;
    std::vector<float> logits, hidden;
    size_t n_vocab, n_embd;

    void add(const BatchItem &item) {
        items.push_back(item);
        logits.resize(logits.size() + item.n_logits * n_vocab, -1);
        hidden.resize(hidden.size() + item.n_hidden * n_embd, -1);
    }
    BatchOptions options() {
        BatchOptions out;
        out.logits = logits.empty() ? nullptr : logits.data();
        out.hidden = hidden.empty() ? nullptr : hidden.data();
        return out;
    }
    Status decode(ggufx_session *session) {
        Failure failure{};
        const Status status =
            inner(session).decode_batch(items.data(), items.size(), options(), &failure);
        CHECK(status == Status::ok, "decode: %s", failure.message);
        return status;
    }
    // The caller's arrays may change as soon as a step is open.
    Status open(ggufx_session *session, Failure *failure) {
        std::vector<BatchItem> copy = items;
        std::vector<Ids> tokens, positions;
        std::vector<std::vector<float>> rows;
        for (BatchItem &item : copy) {
            const size_t n_floats = item.embeddings ? item.n * n_embd : 0;
            tokens.emplace_back(item.tokens, item.tokens + (item.tokens ? item.n : 0));
            positions.emplace_back(item.positions, item.positions + (item.positions ? item.n : 0));
            rows.emplace_back(item.embeddings, item.embeddings + n_floats);
            if (item.tokens) item.tokens = tokens.back().data();
            if (item.positions) item.positions = positions.back().data();
            if (item.embeddings) item.embeddings = rows.back().data();
        }
        return inner(session).open_step(copy.data(), copy.size(), options(), failure);
    }
    void open(ggufx_session *session) {
        Failure failure{};
        const Status status = open(session, &failure);
        CHECK(status == Status::ok, "open: %s", failure.message);
    }
    bool same(const Inputs &o) const {
        return memcmp(logits.data(), o.logits.data(), logits.size() * sizeof(float)) == 0 &&
               memcmp(hidden.data(), o.hidden.data(), hidden.size() * sizeof(float)) == 0;
    }
};

struct Way {
    uint32_t type, flags;
    bool shares; // memory of sequences
};

// One model with one cache type, in one mode.
class Steps {
public:
    Steps(const ggufx_model *model, const std::string &name, const Way &way)
        : model_(model), name_(name + ", type " + std::to_string(way.type) + ", flags " +
                               std::to_string(way.flags)),
          way_(way), facts_(facts_of(model)), ids_(random_ids(400, facts_.n_vocab, 33)),
          rows_(3 * facts_.n_embedding), want_(inputs()) {
        Random random = {5};
        for (float &x : rows_) x = static_cast<float>(random.below(2001)) / 1000 - 1;
        reference_ = prepared(false);
        want_ = inputs();
        (void)want_.decode(reference_);
        want_snapshot_ = saved(reference_);
        goes_on_ = after(reference_);
    }
    Steps(const Steps &) = delete;
    ~Steps() { ggufx_session_destroy(reference_); }

    void run() {
        cuts(test_step(), ggufx::model::kBlockWeights);
        pauses(1, ggufx::model::kBlockWeights);
        pauses(7, 1);
        a_prompt_in_single_tokens();
    }
    // Also within products.
    void run_some() {
        cuts(test_step(), 1);
        pauses(1, 1);
    }
    // Sequences 0, 1 and 3 have tokens, 1 was cut where the caches cannot end.
    ggufx_session *prepared(bool in_steps) const;
    Inputs inputs() const;
    const ggufx_model_facts &facts() const { return facts_; }

private:
    Inputs none() const { return {{}, {}, {}, facts_.n_vocab, facts_.n_embedding}; }
    std::vector<float> after(ggufx_session *session) const;
    void check(ggufx_session *session, const Inputs &got, const char *how) const;
    void cuts(size_t step, uint64_t block_weights) const;
    void pauses(uint64_t groups, uint64_t block_weights) const;
    void a_prompt_in_single_tokens() const;

    const ggufx_model *const model_;
    const std::string name_;
    const Way way_;
    const ggufx_model_facts facts_;
    const Ids ids_;
    std::vector<float> rows_;
    Inputs want_;
    ggufx_session *reference_ = nullptr;
    std::vector<uint8_t> want_snapshot_;
    std::vector<float> goes_on_;
};

ggufx_session *Steps::prepared(bool in_steps) const {
    ggufx_error error = {};
    ggufx_session *session = make_session(model_,
                                          {.n_sequences = kSequences,
                                           .n_context = kContext,
                                           .n_batch = kBatch,
                                           .type = way_.type,
                                           .matmul_flags = way_.flags,
                                           .n_context_total = way_.shares ? kContext * 3 : 0},
                                          &error);
    must(session ? GGUFX_OK : GGUFX_E_INTERNAL, error, name_.c_str());
    Inputs prefix = none();
    prefix.add({.sequence = 0, .tokens = &ids_[0], .n = 20});
    prefix.add({.sequence = 1, .tokens = &ids_[70], .n = 14});
    prefix.add({.sequence = 3, .tokens = &ids_[115], .n = 64, .mark = true});
    if (in_steps) {
        prefix.open(session);
        TestClock clock = {UINT64_MAX,
                           1}; // measures a fast machine: later chunks are whole batches
        bool complete = false;
        Status status = Status::ok;
        while (!complete && status == Status::ok)
            status = inner(session).advance_step(clock.options(), &complete, nullptr);
        CHECK(status == Status::ok, "%s: the prefix", name_.c_str());
    } else {
        (void)prefix.decode(session);
    }
    must(decode_ids(session, &ids_[179], 1, nullptr, 0, &error), error, "decode");
    must(ggufx_session_truncate(session, 1, 9, &error), error, "truncate");
    return session;
}

// A prompt, hidden states without logits before rows with logits, a checkpoint, a token, embeddings.
Inputs Steps::inputs() const {
    static constexpr int32_t kPositions[] = {66, 67};
    Inputs out = none();
    out.add({.sequence = 1, .tokens = &ids_[200], .n = 7, .n_logits = 7, .n_hidden = 2});
    out.add({.sequence = 3,
             .tokens = &ids_[231],
             .n = 2,
             .n_hidden = 1,
             .mark = true,
             .positions = kPositions});
    out.add({.sequence = 0, .tokens = &ids_[230], .n = 1, .n_logits = 1});
    out.add({.sequence = 2, .n = 3, .n_logits = 1, .embeddings = rows_.data()});
    return out;
}

// Returns logits of further tokens, also after a cut.
std::vector<float> Steps::after(ggufx_session *session) const {
    ggufx_error error;
    std::vector<float> out;
    for (const size_t at : {240u, 250u}) {
        Inputs next = none();
        for (uint32_t i = 0; i < kSequences; i++)
            next.add({.sequence = i, .tokens = &ids_[at + i], .n = 1, .n_logits = 1});
        (void)next.decode(session);
        out.insert(out.end(), next.logits.begin(), next.logits.end());
        must(ggufx_session_truncate(session, 3, 65, &error), error, "truncate");
        must(ggufx_session_truncate(session, 1, 12, &error), error, "truncate");
    }
    return out;
}

void Steps::check(ggufx_session *session, const Inputs &got, const char *how) const {
    CHECK(got.same(want_), "%s, %s: other bits", name_.c_str(), how);
    CHECK(saved(session) == want_snapshot_, "%s, %s: another snapshot", name_.c_str(), how);
    const std::vector<float> next = after(session);
    CHECK(memcmp(next.data(), goes_on_.data(), next.size() * sizeof(float)) == 0,
          "%s, %s: other bits after it", name_.c_str(), how);
}

// Abandoned after each number of groups, then completed.
void Steps::cuts(size_t step, uint64_t block_weights) const {
    ggufx_session *const session = prepared(true);
    const Look before(session);
    Inputs got = inputs();
    uint64_t n = 1;
    for (got.open(session); !advance(session, n, block_weights); n += step) {
        CHECK(inner(session).has_step(), "%s: %zu groups: no step", name_.c_str(), size_t(n));
        inner(session).abandon_step();
        CHECK(!inner(session).has_step(), "%s: still a step", name_.c_str());
        const char *const changed = Look(session).difference(before);
        CHECK(!changed, "%s: abandoned after %zu groups: %s changed", name_.c_str(), size_t(n),
              changed);
        got.open(session);
    }
    CHECK(n > 2 * facts_.n_layers, "%s: %zu groups", name_.c_str(), size_t(n));
    check(session, got, "after all cuts");
    ggufx_session_destroy(session);
}

// Paused after every so many groups; the last session is destroyed with a step in flight.
void Steps::pauses(uint64_t groups, uint64_t block_weights) const {
    ggufx_session *const session = prepared(true);
    Inputs got = inputs();
    got.open(session);
    size_t n = 1;
    // the size of blocks changes within products, too
    while (!advance(session, groups, n % 5 ? block_weights : ggufx::model::kBlockWeights)) n++;
    CHECK(n * groups > 2 * facts_.n_layers, "%s: %zu pauses", name_.c_str(), n);
    check(session, got, "with pauses");
    Inputs next = none();
    next.add({.sequence = 2, .tokens = &ids_[260], .n = 40});
    next.open(session);
    (void)advance(session, 5, block_weights);
    ggufx_session_destroy(session);
}

// Before the first measurement a chunk has one token, in modes where that changes no bit.
void Steps::a_prompt_in_single_tokens() const {
    ggufx_session *const session = prepared(false);
    Inputs got = inputs();
    got.open(session);
    TestClock clock = {UINT64_MAX, 0};
    Failure failure{};
    bool complete = false;
    const Status status = inner(session).advance_step(clock.options(), &complete, &failure);
    CHECK(status == Status::ok && complete, "%s: %s", name_.c_str(), failure.message);
    const bool is_cut = way_.flags != 0;
    const uint64_t least = 13 * facts_.n_layers;
    CHECK(!is_cut || clock.readings > least, "%s: %zu groups", name_.c_str(),
          size_t(clock.readings));
    check(session, got, "in single tokens");
    ggufx_session_destroy(session);
}

// ---- calls beside a step, cancelled steps -------------------------------------------------------

void refuses(Status got, const Failure &failure, const char *call) {
    CHECK(got == Status::state && strstr(failure.message, "in flight"), "%s: status %d: %s", call,
          static_cast<int>(got), failure.message);
}

#define REFUSES(call)                                                                              \
    do {                                                                                           \
        ggufx_error e = {};                                                                        \
        ggufx_error *const error = &e;                                                             \
        CHECK((call) == GGUFX_E_STATE && strstr(e.message, "in flight"), "%s: %s", #call,          \
              e.message);                                                                          \
    } while (0)

void test_calls_beside_a_step(const ggufx_model *model) {
    const Steps steps(model, "calls", {GGUFX_TYPE_F16, GGUFX_MATMUL_TILED, true});
    ggufx_session *const session = steps.prepared(true);
    const Look before(session);
    Inputs got = steps.inputs();
    Failure failure{};
    bool complete = true;
    CHECK(inner(session).advance_step({}, &complete, &failure) == Status::state && !complete,
          "advanced without a step");
    inner(session).abandon_step(); // nothing
    CHECK(inner(session).open_step(nullptr, 0, {}, &failure) == Status::argument, "no items");
    got.open(session);
    (void)advance(session, 4, 1);
    const int32_t ids[] = {1, 2};
    SnapshotFile file;
    Call call;
    call.items.push_back(make_item(2, GGUFX_DECODE_LOGITS, ids, 2));
    REFUSES(call.run(session, steps.facts(), nullptr, error));
    REFUSES(ggufx_session_truncate(session, 2, 0, error));
    REFUSES(ggufx_session_copy(session, 0, 2, 1, error));
    REFUSES(ggufx_session_remove(session, 0, 1, 2, error));
    REFUSES(ggufx_session_shift(session, 0, 1, 19, 1, error));
    REFUSES(ggufx_session_save(session, 0, SnapshotFile::write, &file, error));
    REFUSES(ggufx_session_load(session, 0, SnapshotFile::read, &file, error));
    REFUSES(ggufx_session_save_file(session, 0, "/nonexistent/x", error));
    REFUSES(ggufx_session_load_file(session, 0, "/nonexistent/x", error));
    REFUSES(ggufx_session_set_adapters(session, GGUFX_ALL_SEQUENCES, nullptr, 0, error));
    failure = {};
    refuses(inner(session).open_step(got.items.data(), 1, {}, &failure), failure, "open_step");
    failure = {};
    refuses(inner(session).advance(ids, 2, &failure), failure, "advance");
    failure = {};
    std::vector<float> logits(steps.facts().n_vocab);
    refuses(inner(session).project(logits.data(), 0, 1, &failure), failure, "project");
    CHECK(ggufx_session_length(session, 1) == 9, "another length beside a step");
    CHECK(file.bytes.empty(), "something was saved");
    inner(session).abandon_step();
    CHECK(Look(session) == before, "changed beside a step");
    ggufx_session_destroy(session);
}

// Cancelled at the first polls of a progress callback and at some of thousands, in the second part
// of a step.
void test_cancelled_steps(const ggufx_model *model) {
    const Steps steps(model, "cancelled", {GGUFX_TYPE_Q8_0, GGUFX_MATMUL_TILED, false});
    ggufx_session *const session = steps.prepared(true);
    const Look before(session);
    int polls = 0;
    for (Status status = Status::cancelled; status == Status::cancelled;) {
        polls += 1 + polls / 8;
        Countdown countdown(polls);
        Inputs got = steps.inputs();
        got.open(session);
        bool complete = advance(session, 3, 1);
        StepOptions options;
        options.progress = {&countdown, Countdown::report};
        Failure failure{};
        status = inner(session).advance_step(options, &complete, &failure);
        if (status == Status::ok) break;
        CHECK(status == Status::cancelled && !complete && strstr(failure.message, "cancelled"),
              "status %d: %s", static_cast<int>(status), failure.message);
        CHECK(!inner(session).has_step() && Look(session) == before,
              "cancelled at poll %d: changed", polls);
    }
    CHECK(polls > 4, "%d polls", polls);
    ggufx_session_destroy(session);
}

// ---- memory -------------------------------------------------------------------------------------

// Every allocation of a step fails once, which changes nothing; advancing allocates nothing.
void test_memory(const TinyFile &tiny, bool shares) {
    FaultModel faulty(tiny);
    fault &memory = faulty.memory;
    const ggufx_model *const model = faulty.model;
    const Steps steps(model, tiny.name, {GGUFX_TYPE_Q8_0, GGUFX_MATMUL_TILED, shares});
    ggufx_session *const session = steps.prepared(true);
    const Look before(session);
    Inputs got = steps.inputs();
    long n = 0;
    for (Status status = Status::memory; status != Status::ok && n < 100;) {
        fault_reset(&memory);
        memory.fail_at = ++n;
        Failure failure{};
        status = got.open(session, &failure);
        memory.fail_at = 0;
        if (status == Status::ok) break;
        CHECK(status == Status::memory && failure.message[0], "%s: allocation %ld: %s",
              tiny.name.c_str(), n, failure.message);
        CHECK(!inner(session).has_step() && Look(session) == before, "%s: allocation %ld: changed",
              tiny.name.c_str(), n);
    }
    CHECK(n > 1 && n < 100, "%s: %ld allocations", tiny.name.c_str(), n);
    fault_reset(&memory);
    while (!advance(session, 1, 1)) {}
    CHECK(memory.calls == 0, "%s: %ld allocations while advancing", tiny.name.c_str(),
          memory.calls);
    ggufx_session_destroy(session);
}

// ---- time ---------------------------------------------------------------------------------------

void test_chunks() {
    using ggufx::model::chunk_tokens;
    CHECK(chunk_tokens({}, 2'000'000) == 1, "a chunk without a measurement");
    CHECK(chunk_tokens({99'999, 1}, 2'000'000) == 10, "a chunk after a single token");
    CHECK(chunk_tokens({640'000, 64}, 2'000'000) == 99, "a chunk after a larger one");
    CHECK(chunk_tokens({5'000'000, 1}, 2'000'000) == 1, "a chunk on a slow machine");
    CHECK(chunk_tokens({5'000'000, 1}, 0) == 1, "a chunk without time");
    CHECK(chunk_tokens({0, 8}, UINT64_MAX) == UINT64_MAX / 2, "a chunk without limits");
    // Half a budget holds the slowest group, if a group of n tokens costs a + b n.
    size_t n = 1;
    for (int i = 0; i < 8; i++) {
        const uint64_t ns = 300'000 + 7'000 * n;
        CHECK(n == 1 || ns <= 1'000'000, "%zu tokens take %zu ns", n, size_t(ns));
        n = chunk_tokens({ns, n}, 2'000'000);
    }
    CHECK(n > 80, "chunks stay at %zu tokens", n);
}

// A delay of some layers is no measurement.
void test_layer_times() {
    ggufx::model::LayerTimes times;
    times.add(70, false);
    CHECK(times.slowest_ns() == 0, "a layer that has not ended");
    times.add(9000, true);
    CHECK(times.slowest_ns() == 9000, "%zu ns", size_t(times.slowest_ns()));
    for (const uint64_t ns : {60u, 50u, 7000u}) {
        times.add(20, false);
        times.add(ns, false);
        times.add(30, true);
    }
    CHECK(times.slowest_ns() == 50, "%zu ns", size_t(times.slowest_ns()));
}

void test_budgets() {
    TestClock clock = {UINT64_MAX, 400};
    ggufx::model::Budget budget(1, {&clock, TestClock::now});
    CHECK(budget.lap() == 400 && !budget.is_used_up(), "400 ns");
    CHECK(budget.lap() == 400 && !budget.is_used_up(), "800 ns");
    CHECK(budget.lap() == 400 && budget.is_used_up(), "1200 ns");
    const ggufx::model::Budget largest(UINT64_MAX, {});
    CHECK(largest.ns() == UINT64_MAX && !largest.is_used_up(), "the largest budget");
    ggufx::model::Budget real(1, {});
    uint64_t ns = 0;
    while (!real.is_used_up()) ns += real.lap();
    CHECK(ns >= kMicrosecond, "a microsecond");
}

// A rank refuses a step without a message to the others.
void test_ranks(const TinyFile &tiny) {
    ThreadGroup group(2);
    std::atomic<int> n_refused = 0;
    group.run([&](uint32_t i) {
        const Rank rank(g_root + tiny.path, {.group = &group, .rank = i});
        ggufx_error error = {};
        ggufx_session *session = make_session(rank.model(), {.n_context = 32}, &error);
        const int32_t ids[] = {1, 2, 3};
        const BatchItem item = {.tokens = ids, .n = 3};
        Failure failure{};
        const Status status = inner(session).open_step(&item, 1, {}, &failure);
        const bool decodes = decode_ids(session, ids, 3, nullptr, 0, &error) == GGUFX_OK;
        n_refused += status == Status::unsupported && strstr(failure.message, "ranks") &&
                     !inner(session).has_step() && decodes;
        ggufx_session_destroy(session);
    });
    CHECK(n_refused == 2, "%d ranks refused a step", n_refused.load());
}

// Returns the type, or F16 for heads that do not fit it.
uint32_t usable(const ggufx_model *model, uint32_t type) {
    ggufx_error error;
    ggufx_session *session = make_session(model, {.n_context = 16, .type = type}, &error);
    ggufx_session_destroy(session);
    return session ? type : uint32_t{GGUFX_TYPE_F16};
}

} // namespace

int main() {
    if (!begin_models()) return 77;
    // one thread: most groups of these models are too short for more
    ggufx_runtime_destroy(g_runtime);
    ggufx_runtime_options options = {};
    options.struct_size = sizeof options;
    options.threads = 1;
    ggufx_error error;
    must(ggufx_runtime_create(&g_runtime, &options, &error), error, "runtime");
    test_chunks();
    test_layer_times();
    test_budgets();
    size_t n_files = 0, done = 0, n_memory = 0;
    for (const TinyFile &file : tiny_files()) {
        Opened opened(file.path);
        const ggufx_model *model = opened.with_model().model;
        const size_t i = n_files++;
        for (size_t j = 0; j < std::size(kFlags); j++) {
            if (done++ % test_step()) continue;
            const uint32_t type = usable(model, kTypes[(i + j) % std::size(kTypes)]);
            const size_t flags = (i / 3 + j) % std::size(kFlags);
            Steps steps(model, file.name, {type, kFlags[flags], (i + j) % 2 == 1});
            if (j == 0)
                steps.run();
            else
                steps.run_some();
        }
        for (const char *name : {"llama3", "gemma3", "qwen35", "mamba2"}) {
            if (file.name != name) continue;
            n_memory++;
            test_calls_beside_a_step(model);
            test_cancelled_steps(model);
            test_memory(file, false);
            test_memory(file, true);
        }
        if (file.name == "llama3") test_ranks(file);
    }
    CHECK(n_files > 30 && n_memory == 4, "%zu models, %zu of them with memory", n_files, n_memory);
    return end();
}
