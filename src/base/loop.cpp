// Guided scheduling: chunks start large and shrink to a quarter at the end; workers claim them from
// one counter. Chunk sizes depend on the position alone, so their number is known before they run.
// SPDX-License-Identifier: MIT
#include "base/loop.hpp"

#include "base/fpenv.hpp"
#include "base/thread.hpp"

#include <atomic>
#include <utility>

namespace ggufx {

namespace {

constexpr uint64_t kChunkPs = 1'000'000'000; // 1 ms: longest task
constexpr uint64_t kWavePs = 3'000'000'000;  // 3 ms of work between two polls, even on one core
constexpr int64_t kPollNs = 1'500'000;       // between two polls by the own pool's caller
constexpr uint64_t kLastPs = 25'000'000;     // 25 us: minimum for chunks at the end
constexpr uint32_t kTasksPerWorker = 8;      // so that slow cores finish with the others

size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

size_t clamp(size_t n, size_t low, size_t high) {
    return n > high ? high : n < low ? low : n;
}

// Returns the items that take about `picoseconds`: whole units, at least one, at most n.
size_t items_in(const Loop &loop, uint64_t picoseconds) {
    const uint64_t n = picoseconds / (loop.picoseconds ? loop.picoseconds : 1);
    return n < loop.n ? round_up(n ? static_cast<size_t>(n) : 1, loop.unit) : loop.n;
}

struct Schedule {
    size_t n, unit, largest, smallest, workers, fine; // `fine` items at the end go one by one

    // Schedules `count` items of the loop.
    Schedule(const Loop &loop, size_t count, uint32_t n_workers)
        : n(count), unit(loop.unit), workers(n_workers), fine(loop.fine_end ? workers * unit : 0) {
        const size_t longest = round_up(items_in(loop, kChunkPs), unit);
        const size_t wanted = clamp(n / (kTasksPerWorker * workers), loop.min_items, longest);
        largest = clamp(wanted / unit * unit, unit, longest);
        const size_t few = items_in(loop, kLastPs);
        smallest = clamp(round_up(largest / 4 + 1, unit), unit, few < largest ? few : largest);
    }
    // Returns the items of the chunk that starts at `first` < n.
    size_t chunk(size_t first) const {
        const size_t rest = n - first;
        if (rest <= fine) return 1;
        const size_t wanted = round_up(clamp(rest / (2 * workers), smallest, largest), unit);
        return wanted < rest ? wanted : rest;
    }
};

// Duties of the calling thread within a loop, as worker 0 of the own pool. It polls here, so no
// wave has to end for a poll, and the interval holds with few processors, too.
class Caller {
public:
    explicit Caller(const Loop &loop)
        : loop_(loop), mode_(FpMode::current()), last_(monotonic_ns()), aside_(loop.aside) {}
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
    // first: number of items claimed so far.
    void poll(size_t first) {
        if (!loop_.progress.report) return;
        const int64_t now = monotonic_ns();
        if (now - last_ < kPollNs) return;
        last_ = now;
        const FpScope scope(mode_);
        if (loop_.progress.cancelled(loop_.done + first * loop_.weight, loop_.total)) cancel();
    }
    void step_aside() {
        const Aside *aside = std::exchange(aside_, nullptr);
        if (!aside) return;
        const FpScope scope(mode_);
        if (!aside->work(aside->user)) cancel();
    }

private:
    void cancel() { cancelled_.store(true, std::memory_order_relaxed); }

    const Loop &loop_;
    FpMode mode_;
    int64_t last_;
    const Aside *aside_;
    std::atomic<bool> cancelled_{false};
};

// Tasks of one executor call: items begin .. begin + schedule.n - 1.
struct Wave {
    const Schedule &schedule;
    size_t begin;
    ChunkFn chunk;
    const void *ctx;
    Caller *caller; // null: polls happen between waves
    std::atomic<size_t> next{0};

    // Runs the next chunk. Returns false if none is left or the loop was cancelled.
    bool step(uint32_t worker) {
        size_t first = next.load(std::memory_order_relaxed), count;
        do {
            if (first >= schedule.n) return false;
            count = schedule.chunk(first);
        } while (!next.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
        if (caller) {
            if (worker == 0) caller->poll(first);
            if (caller->cancelled()) return false;
        }
        const CanonicalFp canonical;
        chunk(ctx, begin + first, count, worker);
        return true;
    }
    static void task(void *self, uint32_t, uint32_t worker) {
        static_cast<Wave *>(self)->step(worker);
    }
    // Task of the own pool, whose threads run chunks until none is left.
    static void tasks(void *self, uint32_t, uint32_t worker) {
        auto *wave = static_cast<Wave *>(self);
        if (worker == 0) wave->caller->step_aside();
        while (wave->step(worker)) {}
    }
};

// Counts the chunks, at most up to `enough`.
uint32_t count_chunks(const Schedule &schedule, uint32_t enough) {
    uint32_t n = 0;
    for (size_t first = 0; first < schedule.n && n < enough; n++) first += schedule.chunk(first);
    return n;
}

Status run_on_own_threads(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx) {
    const Schedule schedule(loop, loop.n, host.max_workers());
    Caller caller(loop);
    if (loop.progress.cancelled(loop.done, loop.total)) return Status::cancelled;
    Wave wave{schedule, 0, chunk, ctx, &caller};
    const uint32_t n_tasks = count_chunks(schedule, host.max_workers());
    const Status status = host.parallel_for(n_tasks, Wave::tasks, &wave);
    caller.step_aside(); // if other workers have taken all tasks
    return caller.cancelled() ? Status::cancelled : status;
}

Status run_wave(const Host &host, const Loop &loop, size_t begin, size_t count, ChunkFn chunk,
                const void *ctx) {
    const Schedule schedule(loop, count, host.max_workers());
    Wave wave{schedule, begin, chunk, ctx, nullptr};
    return host.parallel_for(count_chunks(schedule, UINT32_MAX), Wave::task, &wave);
}

} // namespace

Status run(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx) {
    const bool parallel = host.max_workers() > 1 && loop.n > loop.unit &&
                          items_in(loop, uint64_t{1000} * host.serial_ns()) < loop.n;
    if (parallel && host.own_threads()) return run_on_own_threads(host, loop, chunk, ctx);
    if (loop.aside && !loop.aside->work(loop.aside->user)) return Status::cancelled;
    const size_t step = loop.progress.report ? items_in(loop, kWavePs) : loop.n;
    for (size_t first = 0; first < loop.n; first += step) {
        if (loop.progress.cancelled(loop.done + first * loop.weight, loop.total)) {
            return Status::cancelled;
        }
        const size_t count = step < loop.n - first ? step : loop.n - first;
        if (parallel) {
            const Status status = run_wave(host, loop, first, count, chunk, ctx);
            if (status != Status::ok) return status;
        } else {
            const CanonicalFp canonical;
            chunk(ctx, first, count, 0);
        }
    }
    return Status::ok;
}

} // namespace ggufx
