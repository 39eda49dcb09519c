// Guided chunks: large ones first, down to a quarter at the end, claimed from one counter. Their
// sizes depend on the position alone, so their number is known before they run.
// SPDX-License-Identifier: MIT
#include "matmul/loop.hpp"

#include "base/fpenv.hpp"

#include <atomic>

namespace ggufx::matmul {

namespace {

constexpr uint64_t kSerialPs = 50'000'000;       // 50 us: below, a join costs more than it saves
constexpr uint64_t kChunkPs = 1'000'000'000;     // 1 ms: longest task
constexpr uint64_t kSerialWavePs = 2 * kChunkPs; // between two polls without tasks
constexpr uint32_t kTasksPerWorker = 8;          // so that slow cores end with the others
constexpr uint32_t kWaveTasks = 3;               // per worker between two polls
constexpr uint32_t kMaxTasks = 65536;

size_t round_up(size_t n, size_t unit) {
    return (n + unit - 1) / unit * unit;
}

size_t clamp(size_t n, size_t low, size_t high) {
    return n > high ? high : n < low ? low : n;
}

struct Schedule {
    size_t n, unit, largest, smallest, workers;

    Schedule(const Loop &loop, uint32_t n_workers)
        : n(loop.n), unit(loop.unit), workers(n_workers) {
        const uint64_t in_time = kChunkPs / (loop.picoseconds ? loop.picoseconds : 1);
        const size_t longest =
            round_up(clamp(in_time < n ? static_cast<size_t>(in_time) : n, 1, n), unit);
        const size_t wanted = clamp(n / (kTasksPerWorker * workers), loop.min_items, n);
        largest = clamp(round_up(wanted, unit), unit, longest);
        smallest = clamp(round_up(largest / 4 + 1, unit), unit, largest);
    }
    // Items of the chunk that starts at `first` < n.
    size_t chunk(size_t first) const {
        const size_t rest = n - first;
        const size_t wanted = round_up(clamp(rest / (2 * workers), smallest, largest), unit);
        return wanted < rest ? wanted : rest;
    }
};

struct Wave {
    const Schedule &schedule;
    size_t end; // chunks from here on belong to the next wave
    ChunkFn chunk;
    const void *ctx;
    std::atomic<size_t> next;

    static void task(void *self, uint32_t, uint32_t worker) {
        auto *wave = static_cast<Wave *>(self);
        size_t first = wave->next.load(std::memory_order_relaxed), count;
        do {
            if (first >= wave->end) return;
            count = wave->schedule.chunk(first);
        } while (
            !wave->next.compare_exchange_weak(first, first + count, std::memory_order_relaxed));
        const CanonicalFp canonical;
        wave->chunk(wave->ctx, first, count, worker);
    }
};

// Chunks from `first` on, at most max_tasks; moves `first` behind them.
uint32_t take_chunks(const Schedule &schedule, size_t *first, uint32_t max_tasks) {
    uint32_t n_tasks = 0;
    while (*first < schedule.n && n_tasks < max_tasks) {
        *first += schedule.chunk(*first);
        n_tasks++;
    }
    return n_tasks;
}

bool cancelled(const Loop &loop, size_t first) {
    return loop.progress.cancelled(loop.done + first * loop.weight, loop.total);
}

Status run_serially(const Loop &loop, ChunkFn chunk, const void *ctx) {
    const uint64_t in_time = kSerialWavePs / (loop.picoseconds ? loop.picoseconds : 1);
    size_t step = loop.n;
    if (loop.progress.report && in_time < loop.n) {
        step = round_up(in_time ? static_cast<size_t>(in_time) : 1, loop.unit);
    }
    for (size_t first = 0; first < loop.n; first += step) {
        if (cancelled(loop, first)) return Status::cancelled;
        const CanonicalFp canonical;
        chunk(ctx, first, step < loop.n - first ? step : loop.n - first, 0);
    }
    return Status::ok;
}

} // namespace

bool runs_parallel(const Host &host, const Loop &loop) {
    return host.max_workers() > 1 && loop.n > loop.unit &&
           loop.n >= (kSerialPs + loop.picoseconds) / (loop.picoseconds ? loop.picoseconds : 1);
}

Status run(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx) {
    if (loop.n == 0) return Status::ok;
    if (!runs_parallel(host, loop)) return run_serially(loop, chunk, ctx);
    const uint32_t workers = host.max_workers();
    const Schedule schedule(loop, workers);
    const uint32_t max_tasks = loop.progress.report ? kWaveTasks * workers : kMaxTasks;
    for (size_t first = 0; first < loop.n;) {
        if (cancelled(loop, first)) return Status::cancelled;
        const size_t begin = first;
        const uint32_t n_tasks = take_chunks(schedule, &first, max_tasks);
        Wave wave{schedule, first, chunk, ctx, {begin}};
        const Status status = host.parallel_for(n_tasks, Wave::task, &wave);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

} // namespace ggufx::matmul
