// Guided chunks: large ones first, down to a quarter at the end, claimed from one counter. Their
// sizes depend on the position alone, so their number is known before they run.
// SPDX-License-Identifier: MIT
#include "base/loop.hpp"

#include "base/fpenv.hpp"

#include <atomic>

namespace ggufx {

namespace {

constexpr uint64_t kSerialPs = 50'000'000;   // 50 us: below, a join costs more than it saves
constexpr uint64_t kChunkPs = 1'000'000'000; // 1 ms: longest task
constexpr uint64_t kWavePs = 3'000'000'000;  // work between two polls, also if one core does it all
constexpr uint32_t kTasksPerWorker = 8;      // so that slow cores end with the others

size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

size_t clamp(size_t n, size_t low, size_t high) {
    return n > high ? high : n < low ? low : n;
}

// Items that take about `picoseconds`, whole units, at least one and at most n.
size_t items_in(const Loop &loop, uint64_t picoseconds) {
    const uint64_t n = picoseconds / (loop.picoseconds ? loop.picoseconds : 1);
    return n < loop.n ? round_up(n ? static_cast<size_t>(n) : 1, loop.unit) : loop.n;
}

struct Schedule {
    size_t n, unit, largest, smallest, workers, fine; // items at the end that go one by one

    // Of `count` items of the loop.
    Schedule(const Loop &loop, size_t count, uint32_t n_workers)
        : n(count), unit(loop.unit), workers(n_workers), fine(loop.fine_end ? workers * unit : 0) {
        const size_t longest = round_up(items_in(loop, kChunkPs), unit);
        const size_t wanted = clamp(n / (kTasksPerWorker * workers), loop.min_items, longest);
        largest = clamp(wanted / unit * unit, unit, longest);
        smallest = clamp(round_up(largest / 4 + 1, unit), unit, largest);
    }
    // Items of the chunk that starts at `first` < n.
    size_t chunk(size_t first) const {
        const size_t rest = n - first;
        if (rest <= fine) return 1;
        const size_t wanted = round_up(clamp(rest / (2 * workers), smallest, largest), unit);
        return wanted < rest ? wanted : rest;
    }
};

// The tasks of one call of the executor: items begin .. begin + schedule.n - 1.
struct Wave {
    const Schedule &schedule;
    size_t begin;
    ChunkFn chunk;
    const void *ctx;
    std::atomic<size_t> next; // from 0

    static void task(void *self, uint32_t, uint32_t worker) {
        auto *wave = static_cast<Wave *>(self);
        size_t first = wave->next.load(std::memory_order_relaxed), count;
        do {
            if (first >= wave->schedule.n) return;
            count = wave->schedule.chunk(first);
        } while (
            !wave->next.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
        const CanonicalFp canonical;
        wave->chunk(wave->ctx, wave->begin + first, count, worker);
    }
};

Status run_tasks(const Host &host, const Loop &loop, size_t begin, size_t count, ChunkFn chunk,
                 const void *ctx) {
    const Schedule schedule(loop, count, host.max_workers());
    uint32_t n_tasks = 0;
    for (size_t first = 0; first < count; n_tasks++) first += schedule.chunk(first);
    Wave wave{schedule, begin, chunk, ctx, {0}};
    return host.parallel_for(n_tasks, Wave::task, &wave);
}

} // namespace

bool runs_parallel(const Host &host, const Loop &loop) {
    return host.max_workers() > 1 && loop.n > loop.unit && items_in(loop, kSerialPs) < loop.n;
}

Status run(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx) {
    const bool parallel = runs_parallel(host, loop);
    const size_t step = loop.progress.report ? items_in(loop, kWavePs) : loop.n;
    for (size_t first = 0; first < loop.n; first += step) {
        if (loop.progress.cancelled(loop.done + first * loop.weight, loop.total)) {
            return Status::cancelled;
        }
        const size_t count = step < loop.n - first ? step : loop.n - first;
        if (parallel) {
            const Status status = run_tasks(host, loop, first, count, chunk, ctx);
            if (status != Status::ok) return status;
        } else {
            const CanonicalFp canonical;
            chunk(ctx, first, count, 0);
        }
    }
    return Status::ok;
}

} // namespace ggufx
