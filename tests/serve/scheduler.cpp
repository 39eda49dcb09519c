// The server's scheduler: a model that computes tokens by arithmetic, a clock that advances per
// computed token, clients that disconnect at any time.
// SPDX-License-Identifier: MIT
#include "fake_backend.hpp"

#include <cstdio>
#include <cstdlib>

using namespace ggufx::cli;

// Allocations until one fails; not positive: none does.
static long g_allocations_left = 0;

// Not inlined: gcc would take the pair for a mismatch.
[[gnu::noinline]] void *operator new(std::size_t n) {
    if (g_allocations_left > 0 && --g_allocations_left == 0) throw std::bad_alloc();
    if (void *const out = std::malloc(n > 0 ? n : 1)) return out;
    throw std::bad_alloc();
}
[[gnu::noinline]] void *operator new(std::size_t n, const std::nothrow_t &) noexcept {
    return std::malloc(n > 0 ? n : 1); // std::stable_sort does without
}
[[gnu::noinline]] void operator delete(void *memory) noexcept {
    std::free(memory);
}
[[gnu::noinline]] void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}

namespace {

struct Bench {
    explicit Bench(uint32_t n_sequences, SchedulerOptions options = {}, uint32_t n_batch = 64)
        : machine(n_sequences, n_batch),
          scheduler(machine, options, [this] { return machine.time; }) {}
    std::shared_ptr<FakeWriter> add(const Ids &prompt, size_t n, uint64_t owner = 0,
                                    std::shared_ptr<Job> first = nullptr, bool share = true) {
        auto writer = std::make_shared<FakeWriter>(machine, n);
        last_job = std::make_shared<Job>();
        last_job->prompt = prompt;
        last_job->owner = owner;
        last_job->cache = shared_cache ? 0 : owner;
        last_job->writer = writer;
        last_job->first = std::move(first);
        last_job->share = share;
        scheduler.add(last_job);
        return writer;
    }
    void step() {
        scheduler.step();
        CHECK(scheduler.is_consistent());
    }
    void run() {
        for (int i = 0; !scheduler.is_idle(); i++) {
            CHECK(i < 100000);
            step();
        }
    }
    FakeMachine machine;
    Scheduler scheduler;
    std::shared_ptr<Job> last_job;
    bool shared_cache = false;
};

Ids alone(const Ids &prompt, size_t n, Path answers = Path::rows) {
    SchedulerOptions options;
    options.answers = answers;
    Bench bench(1, options);
    const auto writer = bench.add(prompt, n);
    bench.run();
    return writer->out;
}

void texts_among_others_are_those_alone() {
    for (const Path answers : {Path::rows, Path::tiles}) {
        for (const uint32_t n_sequences : {1u, 3u, 16u}) {
            SchedulerOptions options;
            options.answers = answers;
            Bench bench(n_sequences, options, 16);
            std::vector<std::shared_ptr<FakeWriter>> writers;
            std::vector<Ids> prompts;
            for (int i = 0; i < 40; i++) {
                prompts.push_back(made(i % 3, 5 + static_cast<size_t>(i * 7 % 90)));
                writers.push_back(bench.add(prompts.back(), 1 + static_cast<size_t>(i % 9),
                                            static_cast<uint64_t>(i % 4)));
                if (i % 5 == 0) bench.step();
            }
            bench.run();
            for (size_t i = 0; i < writers.size(); i++)
                CHECK(writers[i]->out == alone(prompts[i], 1 + i % 9, answers));
            CHECK(n_sequences < 16 || bench.scheduler.counts().n_cached_tokens > 0);
        }
    }
}

void a_conversation_that_goes_on_takes_its_beginning() {
    Bench bench(2);
    const Ids first = made(1, 40);
    const auto one = bench.add(first, 20);
    bench.run();
    Ids more = first;
    more.insert(more.end(), one->out.begin(), one->out.end());
    more.push_back(9);
    const auto two = bench.add(more, 5);
    bench.run();
    CHECK(two->n_cached == 40); // the answer was decoded row-wise, and the prompt is tiled
    CHECK(two->out == alone(more, 5));
    SchedulerOptions tiles;
    tiles.answers = Path::tiles;
    Bench both(2, tiles);
    const auto three = both.add(first, 20);
    both.run();
    more = first;
    more.insert(more.end(), three->out.begin(), three->out.end());
    const auto four = both.add(more, 5);
    both.run();
    CHECK(four->n_cached == 59); // the last token was never computed
    CHECK(four->out == alone(more, 5, Path::tiles));
}

void beginnings_are_not_shared_between_owners_unless_asked() {
    for (const bool share : {false, true}) {
        Bench bench(4);
        bench.shared_cache = share;
        bench.add(made(1, 60), 2, 1);
        bench.run();
        const auto other = bench.add(made(1, 60), 2, 2);
        const auto same = bench.add(made(1, 60), 2, 1);
        const auto none = bench.add(made(1, 60), 2, 1, nullptr, false);
        bench.run();
        CHECK(other->n_cached == (share ? 59u : 0u));
        CHECK(same->n_cached == 59);
        CHECK(none->n_cached == 0);
        CHECK(other->out == same->out && none->out == same->out);
    }
}

void a_prompt_is_read_once_for_many() {
    Bench bench(8);
    std::vector<std::shared_ptr<FakeWriter>> writers;
    for (int i = 0; i < 8; i++) {
        Ids prompt = made(1, 1000);
        prompt.push_back(60 + i);
        writers.push_back(bench.add(prompt, 3));
    }
    bench.run();
    CHECK(bench.scheduler.counts().n_prompt_tokens <=
          1001 + 7 * 65); // no wait for a shorter prefix
    for (size_t i = 1; i < 8; i++) CHECK(writers[i]->n_cached > 1000 - 64);
    Bench texts(4);
    const auto first = texts.add(made(1, 30), 3);
    const auto second = texts.add(made(1, 30), 3, 0, texts.last_job);
    texts.run();
    CHECK(second->n_cached == 29 && second->out == first->out);
}

void a_copy_that_has_no_memory_is_computed() {
    Bench bench(2);
    bench.machine.refuses_copies = true;
    bench.add(made(1, 200), 50);
    for (int i = 0; i < 10; i++) bench.step();
    const auto other = bench.add(made(1, 200), 3);
    bench.run();
    CHECK(other->n_cached == 0 && other->out == alone(made(1, 200), 3));
}

void a_long_prompt_does_not_stop_others() {
    SchedulerOptions options;
    options.prompt_seconds = 0.01; // ten tokens of this model
    Bench bench(4, options, 512);
    const auto writer = bench.add(made(1, 8), 300);
    for (int i = 0; i < 5; i++) bench.step();
    const auto long_one = bench.add(made(70, 2000), 2);
    const auto short_one = bench.add(made(200, 12), 2);
    bench.run();
    CHECK(writer->longest < 0.01 + 0.005 + 0.032); // the rate is unknown at first
    CHECK(short_one->ended < long_one->ended);
    CHECK(writer->out == alone(made(1, 8), 300));
    CHECK(bench.machine.most <= 512);
}

void owners_take_turns() {
    Bench bench(1);
    std::vector<std::shared_ptr<FakeWriter>> many;
    for (int i = 0; i < 10; i++) many.push_back(bench.add(made(1, 8), 3, 1));
    const auto other = bench.add(made(1, 8), 3, 2);
    bench.run();
    CHECK(other->begun <= many[1]->begun);
    for (size_t i = 1; i < many.size(); i++) CHECK(many[i - 1]->begun <= many[i]->begun);
    CHECK(many[9]->n_passed > 0);
}

void who_leaves_frees_the_place_at_the_next_step() {
    Bench bench(1);
    const auto gone = bench.add(made(1, 8), 1000);
    const auto queued = bench.add(made(1, 8), 5);
    const auto waits = bench.add(made(3, 8), 5);
    for (int i = 0; i < 5; i++) bench.step();
    gone->gone = queued->gone = true;
    bench.step();
    CHECK(bench.scheduler.counts().n_left == 2);
    CHECK(waits->begun > 0);
    const size_t n = gone->out.size();
    bench.run();
    CHECK(gone->out.size() == n && queued->out.empty() && waits->out == alone(made(3, 8), 5));
    const auto reads = bench.add(made(5, 5000), 5); // disconnects during prefill
    bench.step();
    reads->gone = true;
    bench.run();
    CHECK(reads->out.empty() && bench.scheduler.counts().n_running == 0);
}

void a_fault_of_one_is_nobody_elses() {
    Bench bench(4);
    bench.machine.fails_at = 999;
    const auto good = bench.add(made(1, 20), 10);
    Ids bad = made(1, 10);
    bad.push_back(999);
    const auto faulty = bench.add(bad, 10);
    const auto other = bench.add(made(4, 20), 10);
    bench.run();
    CHECK(faulty->failure == "a NaN" && faulty->fault == Fault::internal && faulty->out.empty());
    CHECK(good->out == alone(made(1, 20), 10) && other->out == alone(made(4, 20), 10));
}

void without_memory_free_places_give_theirs() {
    Bench bench(3);
    bench.add(made(1, 40), 3);
    bench.run();
    CHECK(bench.scheduler.counts().n_held == 40); // tokens in the prefix cache
    bench.machine.full_at = 777;
    bench.machine.n_full = 1;
    const Ids prompt = {777, 1, 2};
    const auto tried = bench.add(prompt, 3);
    bench.run();
    CHECK(tried->failure.empty() && tried->out == alone(prompt, 3));
    CHECK(bench.scheduler.counts().n_held == 3);
    bench.machine.n_full = 3;
    const auto refused = bench.add(prompt, 3, 5);
    bench.run();
    CHECK(refused->is_full() && refused->out.empty());
}

void stop_ends_all() {
    Bench bench(1);
    const auto runs = bench.add(made(1, 8), 100), waits = bench.add(made(1, 8), 100);
    for (int i = 0; i < 5; i++) bench.step();
    bench.scheduler.stop("the end");
    CHECK(runs->stopped && waits->stopped && bench.scheduler.is_idle());
    const auto later = bench.add(made(1, 8), 4);
    bench.run();
    CHECK(later->out == alone(made(1, 8), 4));
}

// Hash collisions change which prefixes are found, but no output.
void hashes_decide_nothing() {
    const auto zero = [](uint64_t, uint64_t) { return uint64_t{7}; };
    PrefixIndex index(3, 1, zero);
    std::vector<PrefixIndex::Code> a(200), b(200), c(200);
    for (size_t i = 0; i < 200; i++) {
        a[i] = static_cast<uint32_t>(i);
        b[i] = i < 130 ? a[i] : 9;
        c[i] = 5;
    }
    const auto begin = [&](uint32_t sequence, uint64_t owner,
                           std::span<const PrefixIndex::Code> codes) {
        index.begin(sequence, owner);
        for (size_t i = 0; i < codes.size(); i += 7)
            index.append(sequence, codes.subspan(i, std::min<size_t>(7, codes.size() - i)));
    };
    begin(0, 1, a);
    begin(1, 1, c);
    begin(2, 2, b);
    CHECK(index.find(1, b).sequence == 0 && index.find(1, b).n == 130);
    CHECK(index.find(2, a).sequence == 2 && index.find(2, a).n == 130);
    CHECK(index.find(3, a).n == 0);
    index.cut(0, 100);
    CHECK(index.find(1, a).n == 100);
    index.cut(0, 15); // shorter than the minimum for a copy
    CHECK(index.find(1, a).n == 0);
    index.begin(0, 2);
    CHECK(index.codes(0).empty() && index.find(2, c).n == 0);
}

// Prefixes of finished requests are found among many, by whole pages and within one; more slots
// than parallel requests.
void beginnings_of_ended_texts_are_kept() {
    SchedulerOptions options;
    options.n_parallel = 2;
    Bench bench(40, options);
    for (int i = 0; i < 30; i++) bench.add(made(100 * i, 70 + static_cast<size_t>(i)), 2);
    bench.run();
    CHECK(bench.scheduler.counts().n_kept > 30 * 70);
    for (int i = 0; i < 30; i++) {
        Ids prompt = made(100 * i, 70 + static_cast<size_t>(i));
        prompt.push_back(5);
        const auto writer = bench.add(prompt, 3);
        bench.run();
        CHECK(writer->n_cached == 70u + static_cast<size_t>(i) && writer->out == alone(prompt, 3));
    }
}

// With memory for a third of the tokens all requests finish; a preempted request gives the same
// output.
void a_text_that_gave_its_place_back_goes_on() {
    for (const Path answers : {Path::rows, Path::tiles}) {
        SchedulerOptions options;
        options.answers = answers;
        Bench bench(8, options);
        bench.machine.room = 1400;
        std::vector<std::shared_ptr<FakeWriter>> writers;
        for (int i = 0; i < 8; i++)
            writers.push_back(bench.add(made(40 * i, 30), 600, static_cast<uint64_t>(i % 3)));
        bench.run();
        CHECK(bench.scheduler.counts().n_preempted > 0);
        for (int i = 0; i < 8; i++)
            CHECK(writers[static_cast<size_t>(i)]->out == alone(made(40 * i, 30), 600, answers));
        const auto large = bench.add(made(3, 2000), 5); // never fits
        bench.run();
        CHECK(large->is_full() && large->out.empty());
    }
}

void who_waits_long_gets_a_place_of_one_with_many() {
    SchedulerOptions options;
    options.patience_seconds = 0.5;
    Bench bench(4, options);
    std::vector<std::shared_ptr<FakeWriter>> many;
    for (int i = 0; i < 8; i++) many.push_back(bench.add(made(40 * i, 30), 2000, 1));
    for (int i = 0; i < 100; i++) bench.step();
    const auto other = bench.add(made(7, 30), 10, 2);
    const double start = bench.machine.time;
    while (other->ended == 0) bench.step();
    CHECK(bench.machine.time - start < 1.0);
    CHECK(bench.scheduler.counts().n_preempted == 1);
    bench.run();
    CHECK(bench.scheduler.counts().n_again > 0);
    for (int i = 0; i < 8; i++)
        CHECK(many[static_cast<size_t>(i)]->out == alone(made(40 * i, 30), 2000));
    CHECK(other->out == alone(made(7, 30), 10));
}

// Returns the time until another owner's request has ended, if the slots have requests with prompts
// and answers of so many tokens.
double wait_beside(size_t n_prompt, uint64_t n_answer, double patience) {
    SchedulerOptions options;
    options.patience_seconds = patience;
    Bench bench(4, options);
    for (int i = 0; i < 4; i++) bench.add(made(40 * i, n_prompt), 5000, 1);
    while (bench.scheduler.counts().n_answer_tokens < 4 * n_answer) bench.step();
    const auto other = bench.add(made(7, 30), 1, 2);
    const double start = bench.machine.time;
    while (other->ended == 0) bench.step();
    CHECK(bench.scheduler.counts().n_preempted == 1);
    return bench.machine.time - start;
}

// A token takes 1 ms: the longer the victim has run, the longer the other owner waits.
void a_wait_is_no_longer_than_the_work_that_is_lost() {
    const double none = wait_beside(30, 1, 0);
    const double little = wait_beside(30, 100, 1000), much = wait_beside(3000, 100, 1000);
    CHECK(none < 0.1);
    CHECK(little - none > 0.1 && little - none < 0.3);
    CHECK(much - none > 3 && much - none < 6);
    CHECK(wait_beside(3000, 100, 0.5) < 1);
}

// A token takes 1 ms, and a whole chunk 512 ms: the first short request of another owner may wait
// for one, the next ones do not.
void long_prompts_are_cut_while_owners_share() {
    SchedulerOptions options;
    options.prompt_seconds = 0.1;
    Bench bench(4, options, 512);
    const Ids prompt = made(1, 20000);
    const auto large = bench.add(prompt, 1, 1);
    for (int i = 0; i < 5; i++) bench.step();
    CHECK(bench.machine.most == 512);
    for (int i = 0; i < 10; i++) {
        const auto small = bench.add(made(20 + i, 30), 1, 2);
        const double start = bench.machine.time;
        while (small->ended == 0) bench.step();
        CHECK(i == 0 || bench.machine.time - start < 0.25);
        for (int k = 0; k < 3; k++) bench.step();
    }
    const double end = bench.machine.time + 11;
    while (bench.machine.time < end) bench.step();
    bench.machine.most = 0;
    bench.step();
    CHECK(bench.machine.most == 512); // the other owner is gone
    bench.run();
    CHECK(large->out == alone(prompt, 1));
}

// Deficit round robin: an owner of long requests does not get more tokens than one of short
// requests.
void owners_get_as_many_tokens() {
    Bench bench(1);
    std::vector<std::shared_ptr<FakeWriter>> large, small;
    for (int i = 0; i < 6; i++) large.push_back(bench.add(made(i, 1000), 200, 1));
    for (int i = 0; i < 60; i++) small.push_back(bench.add(made(i + 7, 40), 60, 2));
    while (large[2]->ended == 0) bench.step();
    size_t n = 0; // finished short requests, which have as many tokens as the long ones
    for (const auto &writer : small) n += writer->ended > 0;
    CHECK(n >= 20 && n <= 50);
    bench.run();
}

void scores_are_those_of_every_token() {
    for (const size_t n : {1u, 16u, 17u, 100u}) {
        Bench bench(3);
        bench.add(made(1, 64), 3);
        const Ids prompt = made(1, n);
        const auto other = bench.add(made(9, 100), 10);
        const auto writer = bench.add(prompt, 4);
        bench.last_job->scores = writer->is_scored = true;
        bench.run();
        CHECK(writer->n_cached == 0 && writer->scores.size() == n);
        Ids row;
        for (size_t i = 0; i < n; i++) {
            row.push_back(prompt[i] * 2);
            CHECK(writer->scores[i] == FakeMachine::value(row));
        }
        CHECK(writer->out == alone(prompt, 4) && other->out == alone(made(9, 100), 10));
    }
}

void who_is_late_ends() {
    Bench bench(1);
    const auto runs = bench.add(made(1, 8), 1000), waits = bench.add(made(1, 8), 10);
    for (int i = 0; i < 5; i++) bench.step();
    runs->late = waits->late = true;
    bench.run();
    CHECK(runs->stopped && waits->stopped && runs->out.size() > 2 && waits->out.empty());
    CHECK(bench.scheduler.counts().n_left == 0);
}

std::string snapshot_of(std::span<const PrefixIndex::Code> codes) {
    return {reinterpret_cast<const char *>(codes.data()), codes.size_bytes()};
}

// A slot with a prefix, and a running request of another owner beside it.
struct RestoreBench : Bench {
    RestoreBench() : Bench(3) {
        machine.take_memory(4096);
        add(prompt, 4, 1);
        run();
        while (scheduler.slot(slot).n_tokens == 0) slot++;
        codes.assign(scheduler.held(slot).begin(), scheduler.held(slot).end());
        neighbour = add(made(7, 50), 30, 2);
        for (int i = 0; i < 5; i++) step();
    }
    // Returns whether the snapshot was refused.
    bool restore(std::span<const PrefixIndex::Code> of, const std::string &snapshot) {
        bool is_refused = false;
        try {
            scheduler.restore(slot, 1, of, snapshot);
        } catch (const DecodeBackend::Refused &) {
            is_refused = true;
        } catch (const std::bad_alloc &) { is_refused = true; }
        g_allocations_left = 0;
        CHECK(scheduler.is_consistent());
        const size_t n = scheduler.slot(slot).n_tokens;
        CHECK(n == 0 || n == codes.size());
        return is_refused;
    }
    // The prefix, found or not, gives the same answer, and the neighbour goes on.
    void check_answers() {
        for (int i = 0; i < 2; i++) {
            const auto again = add(prompt, 4, 1);
            run();
            CHECK(again->out == alone(prompt, 4) && (i == 0 || again->n_cached > 0));
        }
        CHECK(neighbour->out == alone(made(7, 50), 30));
    }
    const Ids prompt = made(1, 100);
    uint32_t slot = 0;
    std::vector<PrefixIndex::Code> codes;
    std::shared_ptr<FakeWriter> neighbour;
};

void a_refused_snapshot_leaves_index_and_session_alike() {
    for (const int how : {0, 1, 2, 3, 4}) {
        RestoreBench bench;
        std::vector<PrefixIndex::Code> codes = bench.codes;
        std::string snapshot = snapshot_of(bench.codes);
        if (how == 1) snapshot += "x";
        if (how == 2) snapshot.resize(snapshot.size() - 40);
        if (how == 3) codes[50] += 2;
        if (how == 4) codes.pop_back();
        CHECK(bench.restore(codes, snapshot) == (how > 0));
        bench.check_answers();
    }
}

void a_fault_at_any_point_of_a_restore_is_harmless() {
    for (int kind = 0; kind < FaultPlan::kKinds; kind++) {
        for (long n = 1, used = 1; used != 0; n++) {
            RestoreBench bench;
            bench.machine.faults.fail_at(n, kind);
            used = bench.restore(bench.codes, snapshot_of(bench.codes));
            CHECK(used == bench.machine.faults.is_used());
            bench.machine.faults.fail_at(-1, 0);
            bench.check_answers();
        }
    }
    for (long n = 1, used = 1; used != 0; n++) {
        RestoreBench bench;
        const std::string snapshot = snapshot_of(bench.codes);
        g_allocations_left = n;
        used = bench.restore(bench.codes, snapshot);
        bench.check_answers();
    }
}

// An index that lists lost tokens costs a computation, not the requests.
void tokens_that_the_session_lost_are_computed() {
    for (const bool is_copied : {false, true}) {
        Bench bench(3);
        bench.add(made(1, 100), 4, 1);
        bench.run();
        const auto neighbour = bench.add(made(7, 50), 30, 2);
        for (int i = 0; i < 5; i++) bench.step();
        for (uint32_t i = 0; i < 3; i++)
            if (bench.scheduler.slot(i).n_tokens == 100) bench.machine.lose_tokens(i);
        const Ids prompt = made(1, is_copied ? 40 : 100);
        const auto again = bench.add(prompt, 4, 1);
        bench.run();
        CHECK(again->out == alone(prompt, 4) && again->n_cached == 0);
        CHECK(neighbour->out == alone(made(7, 50), 30));
    }
}

// Requests that share prefixes, queue, are scored and are preempted.
struct FaultBench : Bench {
    explicit FaultBench() : Bench(3, options(), 32) {
        machine.take_memory(4096);
        machine.room = 330;
    }
    static SchedulerOptions options() {
        SchedulerOptions out;
        out.patience_seconds = 0.2;
        return out;
    }
    // Adds the requests and runs them. The allocation and the point of that number fail, from 1;
    // 0: none. Returns the number of failed requests.
    size_t run_all(long allocation, long point, int kind) {
        std::vector<std::shared_ptr<Job>> jobs;
        const Ids prompts[] = {made(1, 70), made(1, 70), made(30, 90), made(1, 80), made(9, 20)};
        for (size_t i = 0; i < std::size(prompts); i++) {
            auto job = std::make_shared<Job>();
            job->prompt = prompts[i];
            job->owner = i % 2;
            job->scores = i == 4;
            if (i == 1) job->first = jobs[0];
            writers.push_back(std::make_shared<FakeWriter>(machine, 60));
            writers.back()->is_scored = job->scores;
            job->writer = writers.back();
            jobs.push_back(std::move(job));
        }
        machine.faults.fail_at(point > 0 ? point : -1, kind);
        g_allocations_left = allocation;
        for (auto &job : jobs) scheduler.add(std::move(job));
        run();
        is_used = allocation > 0 ? g_allocations_left == 0 : machine.faults.is_used();
        g_allocations_left = 0;
        machine.faults.fail_at(-1, 0);
        size_t n_failed = 0;
        for (size_t i = 0; i < writers.size(); i++) {
            CHECK(writers[i]->has_ended() && !writers[i]->sequence);
            n_failed += !writers[i]->failure.empty();
            CHECK(!writers[i]->failure.empty() || writers[i]->out == alone(prompts[i], 60));
            CHECK(!writers[i]->failure.empty() || writers[i]->scores.size() == (i == 4 ? 20 : 0));
        }
        const SchedulerCounts counts = scheduler.counts();
        CHECK(counts.n_running == 0 && counts.n_waiting == 0);
        return n_failed;
    }
    std::vector<std::shared_ptr<FakeWriter>> writers;
    bool is_used = false; // the planned failure has happened
};

void a_fault_at_any_point_ends_one_request() {
    size_t n_failed = 0;
    for (int kind = 0; kind < FaultPlan::kKinds; kind++) {
        bool is_used = true;
        for (long n = 1; is_used; n++) {
            FaultBench bench;
            const size_t failed = bench.run_all(0, n, kind);
            CHECK(failed <= 1);
            is_used = bench.is_used;
            n_failed += failed;
        }
    }
    CHECK(n_failed > 100);
}

void without_memory_for_a_request_the_others_go_on() {
    size_t n_failed = 0;
    bool is_used = true;
    for (long n = 1; is_used; n++) {
        FaultBench bench;
        const size_t failed = bench.run_all(n, 0, 0);
        CHECK(failed <= 1);
        is_used = bench.is_used;
        n_failed += failed;
    }
    CHECK(n_failed > 100);
}

// Four times as many equal requests take four times the work, plus at most a third.
void work_grows_with_what_is_asked() {
    const auto calls = [](int n) {
        Bench bench(4);
        for (int i = 0; i < n; i++) bench.add(made(i, 30), 20);
        bench.run();
        return bench.machine.n_calls;
    };
    CHECK(calls(400) <= calls(100) * 16 / 3);
}

} // namespace

int main() {
    return run_checks({texts_among_others_are_those_alone,
                       a_conversation_that_goes_on_takes_its_beginning,
                       beginnings_are_not_shared_between_owners_unless_asked,
                       a_prompt_is_read_once_for_many,
                       a_copy_that_has_no_memory_is_computed,
                       a_long_prompt_does_not_stop_others,
                       owners_take_turns,
                       who_leaves_frees_the_place_at_the_next_step,
                       a_fault_of_one_is_nobody_elses,
                       without_memory_free_places_give_theirs,
                       stop_ends_all,
                       hashes_decide_nothing,
                       beginnings_of_ended_texts_are_kept,
                       a_text_that_gave_its_place_back_goes_on,
                       who_waits_long_gets_a_place_of_one_with_many,
                       a_wait_is_no_longer_than_the_work_that_is_lost,
                       long_prompts_are_cut_while_owners_share,
                       owners_get_as_many_tokens,
                       scores_are_those_of_every_token,
                       who_is_late_ends,
                       a_refused_snapshot_leaves_index_and_session_alike,
                       a_fault_at_any_point_of_a_restore_is_harmless,
                       tokens_that_the_session_lost_are_computed,
                       a_fault_at_any_point_ends_one_request,
                       without_memory_for_a_request_the_others_go_on,
                       work_grows_with_what_is_asked},
                      101);
}
