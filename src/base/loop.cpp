// Guided scheduling: chunks start large and shrink to a quarter at the end; workers claim them from
// one counter. With own_ranges, chunks are equal, and workers claim them from the ranges' two ends.
// Chunk sizes depend on the position alone, so their number is known before they run.
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
constexpr uint32_t kChunksPerRange = 16;     // the last ones keep the others waiting
constexpr uint32_t kMaxRanges = 64;          // with more workers, some share a range

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

// Chunks that shrink towards the end, claimed from one counter.
class Guided {
public:
    // Schedules `count` items of the loop.
    Guided(const Loop &loop, size_t count, uint32_t n_workers)
        : n_(count), unit_(loop.unit), workers_(n_workers),
          fine_(loop.fine_end ? workers_ * unit_ : 0) {
        const size_t longest = round_up(items_in(loop, kChunkPs), unit_);
        const size_t wanted = clamp(n_ / (kTasksPerWorker * workers_), loop.min_items, longest);
        largest_ = clamp(wanted / unit_ * unit_, unit_, longest);
        const size_t few = items_in(loop, kLastPs);
        smallest_ =
            clamp(round_up(largest_ / 4 + 1, unit_), unit_, few < largest_ ? few : largest_);
    }
    // Counts the chunks, at most up to `enough`.
    uint32_t count(uint32_t enough) const {
        uint32_t n = 0;
        for (size_t first = 0; first < n_ && n < enough; n++) first += size(first);
        return n;
    }
    bool claim(uint32_t, size_t *first, size_t *count) {
        *first = next_.load(std::memory_order_relaxed);
        do {
            if (*first >= n_) return false;
            *count = size(*first);
        } while (!next_.compare_exchange_weak(*first, *first + *count, std::memory_order_relaxed));
        return true;
    }
    size_t claimed() const { return next_.load(std::memory_order_relaxed); } // items

private:
    // Returns the items of the chunk that starts at `first` < n.
    size_t size(size_t first) const {
        const size_t rest = n_ - first;
        if (rest <= fine_) return 1;
        const size_t wanted = round_up(clamp(rest / (2 * workers_), smallest_, largest_), unit_);
        return wanted < rest ? wanted : rest;
    }

    size_t n_, unit_, workers_, fine_; // `fine_` items at the end go one by one
    size_t largest_, smallest_;
    std::atomic<size_t> next_{0};
};

// Equal chunks in one range per worker, claimed from its two ends.
class Ranges {
public:
    Ranges(const Loop &loop, size_t count, uint32_t n_workers) : n_ranges_(limit(n_workers)) {
        const EvenRanges ranges(count, loop.unit, n_ranges_);
        const size_t unit = loop.unit, longest = round_up(items_in(loop, kChunkPs), unit);
        const size_t wanted = clamp(count / n_ranges_ / kChunksPerRange, loop.min_items, longest);
        size_ = clamp(wanted / unit * unit, unit, longest);
        for (uint32_t r = 0; r < n_ranges_; r++) {
            Range &range = ranges_[r];
            range.begin = ranges.start(r);
            range.end = ranges.start(r + 1);
            const size_t n_chunks = (range.end - range.begin + size_ - 1) / size_;
            range.left.store(n_chunks, std::memory_order_relaxed);
        }
    }
    static uint32_t limit(uint32_t n_workers) {
        return n_workers < kMaxRanges ? n_workers : kMaxRanges;
    }
    uint32_t count(uint32_t enough) const {
        uint64_t n = 0;
        for (uint32_t r = 0; r < n_ranges_ && n < enough; r++) n += ranges_[r].left;
        return n < enough ? static_cast<uint32_t>(n) : enough;
    }
    bool claim(uint32_t worker, size_t *first, size_t *count) {
        const uint32_t own = worker % n_ranges_;
        for (uint32_t i = 0; i < n_ranges_; i++) {
            if (ranges_[(own + i) % n_ranges_].claim(i > 0, size_, first, count)) return true;
        }
        return false;
    }
    size_t claimed() const { // items
        size_t n = 0;
        for (uint32_t r = 0; r < n_ranges_; r++) n += ranges_[r].claimed(size_);
        return n;
    }

private:
    struct alignas(64) Range { // on a cache line of its own
        size_t begin, end;
        // Chunks that are left: the first one in the upper half, the end in the lower half.
        std::atomic<uint64_t> left;

        static uint32_t first_of(uint64_t chunks) { return static_cast<uint32_t>(chunks >> 32); }
        static uint32_t end_of(uint64_t chunks) { return static_cast<uint32_t>(chunks); }

        bool claim(bool last, size_t size, size_t *first, size_t *count) {
            uint64_t chunks = left.load(std::memory_order_relaxed), rest;
            do {
                if (first_of(chunks) == end_of(chunks)) return false;
                rest = last ? chunks - 1 : chunks + (uint64_t{1} << 32);
            } while (!left.compare_exchange_weak(chunks, rest, std::memory_order_relaxed));
            *first = begin + size * (last ? end_of(rest) : first_of(chunks));
            *count = size < end - *first ? size : end - *first;
            return true;
        }
        size_t claimed(size_t size) const {
            const uint64_t chunks = left.load(std::memory_order_relaxed);
            if (first_of(chunks) == end_of(chunks)) return end - begin;
            const size_t from = begin + size * first_of(chunks), to = begin + size * end_of(chunks);
            return end - begin - ((to < end ? to : end) - from);
        }
    };

    size_t size_; // items of a chunk, fewer at the end of a range
    uint32_t n_ranges_;
    Range ranges_[kMaxRanges];
};

// Duties of the calling thread within a loop, as worker 0 of the own pool. It polls here, so no
// wave has to end for a poll, and the interval holds with few processors, too.
class Caller {
public:
    explicit Caller(const Loop &loop)
        : loop_(loop), mode_(FpMode::current()), last_(monotonic_ns()), aside_(loop.aside) {}
    bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
    // count: items of the chunk that is about to run.
    void poll(const auto &chunks, size_t count) {
        if (!loop_.progress.report) return;
        const int64_t now = monotonic_ns();
        if (now - last_ < kPollNs) return;
        last_ = now;
        const FpScope scope(mode_);
        if (loop_.cancelled(chunks.claimed() - count)) cancel();
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

// Tasks of one executor call: chunks of items from `begin` on.
template <class Chunks> struct Wave {
    Chunks &chunks;
    size_t begin;
    ChunkFn chunk;
    const void *ctx;
    Caller *caller; // null: polls happen between waves

    // Runs the next chunk. Returns false if none is left or the loop was cancelled.
    bool step(uint32_t worker) {
        size_t first, count;
        if (!chunks.claim(worker, &first, &count)) return false;
        if (caller) {
            if (worker == 0) caller->poll(chunks, count);
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

template <class Chunks>
Status run_on_own_threads(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx) {
    Chunks chunks(loop, loop.n, host.max_workers());
    Caller caller(loop);
    if (loop.progress.cancelled(loop.done, loop.total)) return Status::cancelled;
    Wave<Chunks> wave{chunks, 0, chunk, ctx, &caller};
    const uint32_t n_tasks = chunks.count(host.max_workers());
    const Status status = host.parallel_for(n_tasks, Wave<Chunks>::tasks, &wave);
    caller.step_aside(); // if other workers have taken all tasks
    return caller.cancelled() ? Status::cancelled : status;
}

template <class Chunks>
Status run_wave(const Host &host, const Loop &loop, size_t begin, size_t count, ChunkFn chunk,
                const void *ctx) {
    Chunks chunks(loop, count, host.max_workers());
    Wave<Chunks> wave{chunks, begin, chunk, ctx, nullptr};
    return host.parallel_for(chunks.count(UINT32_MAX), Wave<Chunks>::task, &wave);
}

bool runs_parallel(const Host &host, const Loop &loop) {
    return host.max_workers() > 1 && loop.n > loop.unit &&
           items_in(loop, uint64_t{1000} * host.serial_ns()) < loop.n;
}

template <class Chunks>
Status run_chunks(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx) {
    const bool parallel = runs_parallel(host, loop);
    if (parallel && host.own_threads()) return run_on_own_threads<Chunks>(host, loop, chunk, ctx);
    if (loop.aside && !loop.aside->work(loop.aside->user)) return Status::cancelled;
    const size_t step = loop.progress.report ? items_in(loop, kWavePs) : loop.n;
    for (size_t first = 0; first < loop.n; first += step) {
        if (loop.cancelled(first)) return Status::cancelled;
        const size_t count = step < loop.n - first ? step : loop.n - first;
        if (parallel) {
            const Status status = run_wave<Chunks>(host, loop, first, count, chunk, ctx);
            if (status != Status::ok) return status;
        } else {
            const CanonicalFp canonical;
            chunk(ctx, first, count, 0);
        }
    }
    return Status::ok;
}

} // namespace

EvenRanges ranges_of(const Host &host, const Loop &loop) {
    const uint32_t n = runs_parallel(host, loop) ? Ranges::limit(host.max_workers()) : 1;
    return {loop.n, loop.unit, n};
}

Status run(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx) {
    return loop.own_ranges ? run_chunks<Ranges>(host, loop, chunk, ctx)
                           : run_chunks<Guided>(host, loop, chunk, ctx);
}

} // namespace ggufx
