// The thread pool: each task runs once, jobs meet threads that run, spin or sleep. Also nested and
// concurrent calls, forks, and polls within a loop.
// SPDX-License-Identifier: MIT
#include "base/cpu.hpp"
#include "base/fpenv.hpp"
#include "base/host.hpp"
#include "base/loop.hpp"
#include "base/pool.hpp"
#include "base/thread.hpp"
#include "check.hpp"

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#if defined(__unix__)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace ggufx;

namespace {

// Counts the runs of each task and detects two tasks with the same worker id at once.
struct Probe {
    static constexpr uint32_t kMax = 512;
    std::atomic<uint32_t> ran[kMax] = {};
    std::atomic<bool> inside[8] = {};
    std::atomic<bool> clash{false};
    const Host *host = nullptr;
    std::atomic<uint32_t> nested{0};

    static void task(void *self, uint32_t index, uint32_t worker) {
        auto *p = static_cast<Probe *>(self);
        if (worker >= 8 || p->inside[worker].exchange(true)) p->clash = true;
        p->ran[index]++;
        if (p->host && index == 0) p->host->parallel_for(5, count_nested, p);
        if (worker < 8) p->inside[worker] = false;
    }
    static void count_nested(void *self, uint32_t, uint32_t) {
        static_cast<Probe *>(self)->nested++;
    }
};

template <class Run> void every_task_runs_once(const Run &run) {
    for (uint32_t n = 0; n < 200; n++) {
        Probe probe;
        CHECK(run(n, &probe));
        for (uint32_t i = 0; i < Probe::kMax; i++) CHECK(probe.ran[i] == (i < n ? 1 : 0));
        CHECK(!probe.clash);
    }
}

void every_task_runs_once_under_a_worker_id_of_its_own(uint32_t threads) {
    const auto host = Host::create({nullptr, nullptr, nullptr, threads});
    CHECK(host->max_workers() == threads);
    every_task_runs_once([&](uint32_t n, Probe *probe) {
        return host->parallel_for(n, Probe::task, probe) == Status::ok;
    });
    if (threads < 2) return;
    Pool *pool =
        make<Pool>(*host, *host, threads); // all of them, even if the host's pool has fewer
    every_task_runs_once(
        [&](uint32_t n, Probe *probe) { return pool->run(n, Probe::task, probe); });
    Pool::destroy(pool);
}

// More threads than processors would make every fork and join wait for a time slice.
void no_more_threads_than_processors() {
    const auto host = Host::create({nullptr, nullptr, nullptr, 64});
    CHECK(host->max_workers() == 64);
    struct Seen {
        std::mutex mutex;
        std::set<std::thread::id> threads;
    } seen;
    const auto task = [](void *self, uint32_t, uint32_t) {
        std::this_thread::sleep_for(std::chrono::microseconds(200)); // lets other threads join
        auto *s = static_cast<Seen *>(self);
        const std::lock_guard lock(s->mutex);
        s->threads.insert(std::this_thread::get_id());
    };
    CHECK(host->parallel_for(256, task, &seen) == Status::ok);
    CHECK(seen.threads.size() >= 1 && seen.threads.size() <= cpu::usable_processors());
}

void a_nested_call_runs_serially() {
    const auto host = Host::create({nullptr, nullptr, nullptr, 2});
    Probe probe;
    probe.host = host.get();
    CHECK(host->parallel_for(8, Probe::task, &probe) == Status::ok);
    CHECK(probe.nested == 5);
}

void several_callers_share_one_host() {
    const auto host = Host::create({nullptr, nullptr, nullptr, 3});
    std::atomic<int> bad{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; t++)
        callers.emplace_back([&] {
            for (int i = 0; i < 200; i++) {
                Probe probe;
                host->parallel_for(17, Probe::task, &probe);
                for (uint32_t k = 0; k < 17; k++) bad += probe.ran[k] != 1;
                bad += probe.clash;
            }
        });
    for (auto &c : callers) c.join();
    CHECK(bad == 0);
}

#if defined(__unix__)
void a_forked_child_works_alone() {
    const auto host = Host::create({nullptr, nullptr, nullptr, 4});
    Probe warm;
    host->parallel_for(64, Probe::task, &warm);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        Probe probe;
        const bool ok = host->parallel_for(64, Probe::task, &probe) == Status::ok;
        for (uint32_t i = 0; i < 64; i++)
            if (probe.ran[i] != 1) _exit(1);
        _exit(ok ? 0 : 2);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
#endif

void work_for(int64_t ns) {
    const int64_t end = monotonic_ns() + ns;
    while (monotonic_ns() < end) {}
}

// Pauses, sometimes long enough for some or all of the threads to fall asleep.
void pause(uint32_t random) {
    constexpr int64_t kPausesNs[] = {0, 0, 2000, 45000, 55000, 120000};
    work_for(kPausesNs[random % 6]);
}

struct Random {
    uint32_t state;
    uint32_t operator()() { return state = state * 1664525 + 1013904223, state >> 8; }
};

struct OwnPool {
    Ref<Host> host = Host::create({nullptr, nullptr, nullptr, 1});
    Pool *pool;
    explicit OwnPool(uint32_t threads) : pool(make<Pool>(*host, *host, threads)) {}
    ~OwnPool() { Pool::destroy(pool); }
};

// Allocated on the heap and freed after each job, so that sanitizers detect late accesses.
struct Job {
    std::vector<std::atomic<uint32_t>> ran;
    std::vector<std::atomic<bool>> inside;
    std::atomic<bool> clash{false};
    Job(uint32_t n_tasks, uint32_t threads) : ran(n_tasks), inside(threads) {}
    static void task(void *self, uint32_t index, uint32_t worker) {
        auto *job = static_cast<Job *>(self);
        if (worker >= job->inside.size() || job->inside[worker].exchange(true)) job->clash = true;
        if (index < job->ran.size()) job->ran[index]++;
        work_for(index % 4 * 700);
        if (worker < job->inside.size()) job->inside[worker] = false;
    }
};

void every_task_runs_once_whatever_the_threads_do(uint32_t threads) {
    const OwnPool own(threads);
    Random random = {threads};
    for (int i = 0; i < 400; i++) {
        const uint32_t n = random() % 3 == 0 ? random() % 60 : random() % 6;
        const auto job = std::make_unique<Job>(n, threads);
        CHECK(own.pool->run(n, Job::task, job.get()));
        for (const auto &ran : job->ran) CHECK(ran == 1);
        CHECK(!job->clash);
        pause(random());
    }
}

void a_pool_ends_whatever_its_threads_do() {
    Random random = {7};
    for (int i = 0; i < 100; i++) {
        const uint32_t threads = 2 + random() % 9;
        const OwnPool own(threads);
        for (uint32_t jobs = random() % 4; jobs > 0; jobs--) {
            Job job(9, threads);
            CHECK(own.pool->run(9, Job::task, &job));
            pause(random());
        }
    }
}

// Tasks that end when every thread has one: all sleeping threads must wake up.
void all_threads_come(uint32_t threads) {
    struct Meeting {
        uint32_t n;
        std::atomic<uint32_t> came{0};
        std::atomic<bool> late{false};
        static void task(void *self, uint32_t, uint32_t) {
            auto *m = static_cast<Meeting *>(self);
            m->came++;
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
            while (m->came < m->n && !m->late) {
                std::this_thread::yield();
                if (std::chrono::steady_clock::now() > end) m->late = true;
            }
        }
    };
    const OwnPool own(threads);
    for (int i = 0; i < 20; i++) {
        Meeting meeting = {threads};
        CHECK(own.pool->run(threads, Meeting::task, &meeting));
        CHECK(meeting.came == threads && !meeting.late);
        std::this_thread::sleep_for(std::chrono::milliseconds(i % 2 ? 2 : 0));
    }
}

struct Polls {
    std::thread::id caller = std::this_thread::get_id();
    int n = 0, cancel_at = 0;
    uint64_t last = 0;
    bool in_order = true, on_caller = true, in_its_mode = true;
    static int32_t report(void *self, uint64_t done, uint64_t total) {
        auto *p = static_cast<Polls *>(self);
        p->in_order &= done >= p->last && done <= total;
        p->last = done;
        p->on_caller &= std::this_thread::get_id() == p->caller;
#if defined(__SSE__)
        p->in_its_mode &= (_mm_getcsr() & 0xffc0) == (0x1f80 | 0x8040);
#endif
        return ++p->n == p->cancel_at;
    }
};

struct Items {
    std::vector<std::atomic<uint32_t>> ran;
    int64_t ns;
    std::atomic<bool> canonical{true};
    Items(size_t n, int64_t each_ns) : ran(n), ns(each_ns) {}
    static void chunk(const void *self, size_t first, size_t count, uint32_t) {
        auto *items = static_cast<Items *>(const_cast<void *>(self));
#if defined(__SSE__)
        if ((_mm_getcsr() & 0xffc0) != 0x1f80) items->canonical = false;
#endif
        for (size_t i = first; i < first + count; i++) {
            items->ran[i]++;
            work_for(items->ns);
        }
    }
    size_t n_ran() const {
        size_t n = 0;
        for (const auto &r : ran) n += r;
        return n;
    }
};

// A caller's floating-point mode: flushes subnormals.
class FlushingFp {
public:
#if defined(__SSE__)
    FlushingFp() : saved_(_mm_getcsr()) {
        _mm_setcsr(0x1f80 | 0x8040);
    }
    ~FlushingFp() {
        _mm_setcsr(saved_);
    }

private:
    const unsigned saved_;
#else
    FlushingFp() {}
    ~FlushingFp() {}
#endif
};

void check(const Polls &polls, const Items &items) {
    CHECK(polls.in_order && polls.on_caller && polls.in_its_mode && items.canonical);
}

Loop loop_of(const Items &items, const Progress &progress, bool own_ranges = false) {
    return {items.ran.size(),
            1,
            1,
            uint64_t(items.ns) * 1000,
            progress,
            3,
            2,
            3 + 2 * items.ran.size(),
            false,
            nullptr,
            own_ranges};
}

void a_loop_polls_from_within(const Host &host, bool own_ranges) {
    const FlushingFp flushing;
    Polls polls;
    Items items(3000, 20000);
    const Progress progress = {&polls, Polls::report};
    CHECK(run(host, loop_of(items, progress, own_ranges), Items::chunk, &items) == Status::ok);
    CHECK(items.n_ran() == items.ran.size() && polls.n >= 2);
    for (const auto &ran : items.ran) CHECK(ran == 1);
    check(polls, items);
}

void a_cancelled_loop_ends_early(const Host &host, bool own_ranges) {
    const FlushingFp flushing;
    for (int at = 1; at <= 3; at++) {
        Polls polls;
        polls.cancel_at = at;
        Items items(50000, 20000);
        const Progress progress = {&polls, Polls::report};
        CHECK(run(host, loop_of(items, progress, own_ranges), Items::chunk, &items) ==
              Status::cancelled);
        CHECK(polls.n == at && items.n_ran() < items.ran.size());
        if (at == 1) CHECK(items.n_ran() == 0);
        check(polls, items);
    }
}

// All threads are busy: the loop runs in the calling thread, and still polls.
void a_loop_within_a_task_polls_too(const Host &host) {
    struct Nested {
        const Host *host;
        std::atomic<int> n_ok{0};
        static void task(void *self, uint32_t, uint32_t) {
            auto *nested = static_cast<Nested *>(self);
            const FlushingFp flushing;
            Polls polls;
            Items items(300, 20000);
            const Progress progress = {&polls, Polls::report};
            const Status status =
                run(*nested->host, loop_of(items, progress), Items::chunk, &items);
            check(polls, items);
            if (status == Status::ok && items.n_ran() == 300 && polls.n >= 2) nested->n_ok++;
        }
    } nested = {&host};
    CHECK(host.parallel_for(4, Nested::task, &nested) == Status::ok);
    CHECK(nested.n_ok == 4);
}

// Work of the caller beside a loop. With `waits` set it lasts until other threads have run some
// items.
struct Beside {
    const Items &items;
    bool result = true, waits = false;
    int n = 0;
    size_t n_before = 0, n_after = 0; // finished items
    Polls caller = {};
    const Aside aside{this, work};
    static bool work(void *self) {
        auto *beside = static_cast<Beside *>(self);
        Polls::report(&beside->caller, 0, 0); // checks the thread and the mode
        beside->n++;
        beside->n_before = beside->items.n_ran();
        const int64_t until = monotonic_ns() + 10'000'000'000;
        while (beside->waits && beside->items.n_ran() == 0 && monotonic_ns() < until)
            std::this_thread::sleep_for(std::chrono::microseconds(100));
        beside->n_after = beside->items.n_ran();
        return beside->result;
    }
};

void the_caller_works_beside_a_loop(const Host &host, bool waits) {
    const FlushingFp flushing;
    Items items(3000, 5000);
    Beside beside{items, true, waits};
    const Progress none;
    Loop loop = loop_of(items, none);
    loop.aside = &beside.aside;
    CHECK(run(host, loop, Items::chunk, &items) == Status::ok);
    CHECK(beside.n == 1 && items.n_ran() == items.ran.size());
    CHECK(waits ? beside.n_after > 0 : beside.n_before == 0);
    check(beside.caller, items);
}

void what_fails_beside_a_loop_ends_it(const Host &host) {
    const FlushingFp flushing;
    Items items(50000, 20000);
    Beside beside{items, false};
    Polls polls;
    const Progress progress = {&polls, Polls::report};
    Loop loop = loop_of(items, progress);
    loop.aside = &beside.aside;
    CHECK(run(host, loop, Items::chunk, &items) == Status::cancelled);
    CHECK(beside.n == 1 && items.n_ran() < items.ran.size());
    check(beside.caller, items);
    check(polls, items);
    polls.cancel_at = polls.n + 1; // at the next poll
    CHECK(run(host, loop, Items::chunk, &items) == Status::cancelled);
    CHECK(beside.n <= 2 && items.n_ran() < items.ran.size());
}

// Chunks of a loop with ranges, by worker.
struct Claims {
    struct Chunk {
        size_t first, count;
    };
    std::vector<std::vector<Chunk>> of_worker;
    static void chunk(const void *self, size_t first, size_t count, uint32_t worker) {
        auto *claims = static_cast<Claims *>(const_cast<void *>(self));
        claims->of_worker[worker].push_back({first, count});
        work_for(static_cast<int64_t>(count) *
                 (worker == 0 ? 500 : 2000)); // worker 0 helps the others
    }
};

// Every item runs once, and workers take chunks of their own range in order, chunks of other
// ranges from their ends.
void workers_stay_in_their_ranges(const Host &host, size_t n, size_t unit) {
    const Progress none;
    const Loop loop = {n, unit, 8, 2'000'000, none, 0, 1, n, false, nullptr, true};
    const uint32_t n_ranges = host.max_workers();
    const EvenRanges ranges = ranges_of(host, loop);
    CHECK(ranges.start(n_ranges - 1) < n && ranges.start(n_ranges) == n); // one per worker
    Claims claims = {std::vector<std::vector<Claims::Chunk>>(host.max_workers())};
    CHECK(run(host, loop, Claims::chunk, &claims) == Status::ok);
    std::vector<int> ran(n);
    for (uint32_t worker = 0; worker < host.max_workers(); worker++) {
        std::vector<size_t> next(n_ranges), end(n_ranges);
        for (uint32_t r = 0; r < n_ranges; r++) {
            next[r] = ranges.start(r);
            end[r] = ranges.start(r + 1);
        }
        for (const Claims::Chunk &c : claims.of_worker[worker]) {
            const uint32_t r = ranges.of(c.first);
            if (r == worker) {
                CHECK(c.first == next[r]);
                next[r] += c.count;
            } else {
                CHECK(c.first < end[r] && c.first + c.count <= end[r]);
                end[r] = c.first;
            }
            for (size_t i = c.first; i < c.first + c.count; i++) ran[i]++;
        }
    }
    for (const int times : ran) CHECK(times == 1);
}

void ranges_cover_all_items() {
    for (const size_t n : {size_t{1}, size_t{7}, size_t{64}, size_t{1001}}) {
        for (const size_t unit : {size_t{1}, size_t{4}}) {
            for (const uint32_t n_ranges : {1u, 3u, 64u}) {
                const EvenRanges ranges(n, unit, n_ranges);
                CHECK(ranges.start(0) == 0 && ranges.start(n_ranges) == n);
                for (uint32_t r = 0; r < n_ranges; r++) {
                    const size_t from = ranges.start(r), to = ranges.start(r + 1);
                    CHECK(from <= to && (from % unit == 0 || from == n));
                    CHECK(to - from <= (n / unit / n_ranges + 1) * unit);
                    for (size_t item = from; item < to; item++) CHECK(ranges.of(item) == r);
                }
            }
        }
    }
}

// Runs all tasks in the calling thread.
const ExecutorHooks kSerial = {4, nullptr,
                               [](void *, uint32_t n, TaskFn task, void *ctx) {
                                   for (uint32_t i = 0; i < n; i++) task(ctx, i, i % 4);
                                   return int32_t(0);
                               },
                               nullptr};

} // namespace

int main() {
    ranges_cover_all_items();
    for (uint32_t threads : {1u, 2u, 3u, 8u})
        every_task_runs_once_under_a_worker_id_of_its_own(threads);
    no_more_threads_than_processors();
    a_nested_call_runs_serially();
    several_callers_share_one_host();
#if defined(__unix__)
    a_forked_child_works_alone();
#endif
    for (const uint32_t threads : {2u, 3u, 8u, 70u}) {
        every_task_runs_once_whatever_the_threads_do(threads);
        all_threads_come(threads);
    }
    a_pool_ends_whatever_its_threads_do();
    for (const uint32_t threads : {2u, 5u}) {
        const auto host = Host::create({nullptr, nullptr, nullptr, threads});
        for (const bool own_ranges : {false, true}) {
            a_loop_polls_from_within(*host, own_ranges);
            a_cancelled_loop_ends_early(*host, own_ranges);
        }
        for (const size_t n : {size_t{257}, size_t{4096}, size_t{20001}}) {
            workers_stay_in_their_ranges(*host, n, 1);
            workers_stay_in_their_ranges(*host, n, 4);
        }
        a_loop_within_a_task_polls_too(*host);
        the_caller_works_beside_a_loop(*host, cpu::usable_processors() > 1);
        what_fails_beside_a_loop_ends_it(*host);
    }
    for (const auto &host : {Host::create({nullptr, nullptr, &kSerial, 0}),
                             Host::create({nullptr, nullptr, nullptr, 1})}) {
        the_caller_works_beside_a_loop(*host, false);
        what_fails_beside_a_loop_ends_it(*host);
    }
    printf("%d failures\n", failures);
    return failures != 0;
}
