// Schedule of attention: batches of groups, in rounds of chunks. Rounds are short, so that a call
// can be cancelled between them and workers can share one long sequence. No split changes a bit.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "base/loop.hpp"
#include "kv/attend.hpp"

#include <algorithm>

namespace ggufx::kv {

namespace {

constexpr size_t kSlicesGroups = 4; // groups per worker from which on a task merges its own chunks
constexpr size_t kLastGroups = 4;   // groups of the last tasks, so that workers finish together
// least groups of a Whole task that a poll limits: they share pages
constexpr size_t kWholeGroups = 8;

// Groups first .. first + n - 1 of a call, over chunks chunk .. chunk_end - 1 at a time.
struct GroupBatch {
    const AttendCall *call;
    const AttendSpace *space;
    size_t first, n;
    size_t chunk, chunk_end;
    uint64_t chunk_ns; // estimate for one group
    size_t n_slices;   // slices of the groups, one task each

    static void prepare(void *ctx, uint32_t index, uint32_t worker) {
        const GroupBatch &b = *static_cast<const GroupBatch *>(ctx);
        prepare_group(*b.call, b.first + index, b.space->groups[index], b.space->locals[worker]);
    }
    // Task: one slice of the groups over all chunks of a round.
    static void slice(void *ctx, uint32_t index, uint32_t worker) {
        const GroupBatch &b = *static_cast<const GroupBatch *>(ctx);
        const size_t first = b.begin(index), n = b.begin(index + 1) - first;
        for (size_t c = b.chunk; c < b.chunk_end; c++) {
            RowSums *sums = b.space->parts + first;
            attend_chunk(*b.call, b.space->groups + first, n, c, sums, b.space->locals[worker]);
            for (size_t g = 0; g < n; g++)
                merge_chunk(*b.call, b.space->groups[first + g], sums[g]);
        }
    }
    // Task: one chunk of one slice, merged by merge_parts() after the round.
    static void part(void *ctx, uint32_t index, uint32_t worker) {
        const GroupBatch &b = *static_cast<const GroupBatch *>(ctx);
        const size_t slice = index % b.n_slices, c = index / b.n_slices;
        const size_t first = b.begin(slice), n = b.begin(slice + 1) - first;
        attend_chunk(*b.call, b.space->groups + first, n, b.chunk + c,
                     b.space->parts + c * b.n + first, b.space->locals[worker]);
    }
    size_t begin(size_t slice) const { return n * slice / n_slices; }
    static void finish(void *ctx, uint32_t index, uint32_t worker) {
        const GroupBatch &b = *static_cast<const GroupBatch *>(ctx);
        finish_group(*b.call, b.space->groups[index], b.space->locals[worker]);
    }
    void merge_parts() const {
        const CanonicalFp fp;
        for (size_t c = chunk; c < chunk_end; c++)
            for (size_t g = 0; g < n; g++)
                merge_chunk(*call, space->groups[g], space->parts[(c - chunk) * n + g]);
    }
};

// Runs the tasks of a call on the executor, or serially on this thread.
struct Runner {
    const Host &host;
    bool serial;
    Failure *failure;

    Status run(size_t n, TaskFn task, void *ctx) const {
        if (!serial) {
            const Status status = host.parallel_for(static_cast<uint32_t>(n), task, ctx);
            if (status == Status::ok) return status;
            return set_failure(failure, status, {},
                               "the executor did not run the tasks of an attention");
        }
        const CanonicalFp fp; // not around parallel_for: the host's code keeps its own mode
        for (size_t i = 0; i < n; i++) task(ctx, static_cast<uint32_t>(i), 0);
        return Status::ok;
    }
    Status cancelled() const {
        return set_failure(failure, Status::cancelled, {},
                           "the progress callback cancelled the attention");
    }
};

size_t at_least_one(uint64_t n) {
    return n < 1 ? 1 : static_cast<size_t>(n);
}

// Estimated time to decode the keys of a chunk as values.
uint64_t decode_ns(const AttendCall &call) {
    return uint64_t(call.state->config.head_dim_k) * kChunkTokens * 2;
}

// Returns the chunks of a round: as many as the poll interval allows and, in parts, as memory
// allows.
size_t round_chunks(const GroupBatch &b, const AttendShape &shape, uint32_t workers,
                    bool in_parts) {
    uint64_t ns = b.n * b.chunk_ns;
    if (b.call->layer->v_in_k) ns += decode_ns(*b.call) * b.n_slices;
    const uint64_t by_poll = kRoundNs * workers / ns, fit = shape.n_parts / b.n;
    if (!in_parts) return at_least_one(by_poll);
    // A task for each worker, even if kernels are so slow that one task takes the whole interval.
    const uint64_t each = (workers + b.n_slices - 1) / b.n_slices;
    const uint64_t wanted = by_poll > each ? by_poll : each;
    return at_least_one(fit < wanted ? fit : wanted);
}

// Returns as few slices as keep all workers busy: the heads of a slice are adjacent in memory.
size_t count_slices(const GroupBatch &b, const AttendShape &shape, uint32_t workers,
                    size_t n_chunks, bool in_parts) {
    if (workers == 1) return 1;
    const size_t tasks = size_t(workers) * 2;
    size_t n = tasks;
    if (b.call->layer->v_in_k)
        n = workers; // each slice decodes the pages
    else if (in_parts) {
        const size_t fit = at_least_one(shape.n_parts / b.n);
        n = tasks / at_least_one(std::min(fit, n_chunks)) + 1;
    }
    return n < b.n ? n : b.n;
}

Status run_batch(GroupBatch &b, const AttendShape &shape, const Runner &runner, size_t n_chunks,
                 uint64_t done, uint64_t total) {
    const uint32_t workers = runner.serial ? 1 : runner.host.max_workers();
    const bool in_parts =
        b.call->layer->v_in_k || (workers > 1 && b.n < size_t(workers) * kSlicesGroups);
    b.n_slices = count_slices(b, shape, workers, n_chunks, in_parts);
    const size_t step = round_chunks(b, shape, workers, in_parts);
    Status status = runner.run(b.n, GroupBatch::prepare, &b);
    for (b.chunk = 0; status == Status::ok && b.chunk < n_chunks; b.chunk = b.chunk_end) {
        if (b.call->options.progress.cancelled(done + b.chunk * b.n, total))
            return runner.cancelled();
        b.chunk_end = n_chunks - b.chunk < step ? n_chunks : b.chunk + step;
        if (in_parts) {
            status = runner.run((b.chunk_end - b.chunk) * b.n_slices, GroupBatch::part, &b);
            if (status == Status::ok) b.merge_parts();
        } else {
            status = runner.run(b.n_slices, GroupBatch::slice, &b);
        }
    }
    return status == Status::ok ? runner.run(b.n, GroupBatch::finish, &b) : status;
}

// Schedule whose tasks take their groups from packing to the final sums. Workers exchange no data,
// and wait for each other only at the end of a round.
struct Whole {
    const AttendCall *call;
    const AttendSpace *space;
    size_t first, end; // groups of a round
    size_t share;      // groups of a task, and of a worker's part of the memory
    size_t n_chunks;

    // Runs n <= share groups.
    void go(size_t from, size_t n, uint32_t worker) const {
        Group *groups = space->groups + worker * share;
        RowSums *sums = space->parts + worker * share;
        AttendLocal &local = space->locals[worker];
        for (size_t g = 0; g < n; g++) prepare_group(*call, from + g, groups[g], local);
        for (size_t c = 0; c < n_chunks; c++) {
            attend_chunk(*call, groups, n, c, sums, local);
            for (size_t g = 0; g < n; g++) merge_chunk(*call, groups[g], sums[g]);
        }
        for (size_t g = 0; g < n; g++) finish_group(*call, groups[g], local);
    }
    static void task(void *ctx, uint32_t index, uint32_t worker) {
        const Whole &w = *static_cast<const Whole *>(ctx);
        const size_t from = w.first + index * w.share, left = w.end - from;
        w.go(from, left < w.share ? left : w.share, worker);
    }
    static void chunk(const void *ctx, size_t from, size_t count, uint32_t worker) {
        const Whole &w = *static_cast<const Whole *>(ctx);
        for (size_t done = 0; done < count; done += w.share)
            w.go(from + done, count - done < w.share ? count - done : w.share, worker);
    }
};

// Returns the groups of a Whole task; 0: too few groups, or a task would take too long.
size_t whole_share(const AttendCall &call, const AttendShape &shape, const Runner &runner,
                   size_t n_chunks, uint64_t group_ns) {
    const uint32_t workers = runner.host.max_workers();
    const size_t n = call.n_groups(), slices = size_t(workers) * 2;
    if (runner.serial || workers == 1 || call.layer->v_in_k) return 0;
    if (n_chunks > 1 && n < workers * kSlicesGroups) return 0; // parts keep more workers busy
    const size_t even = (n + slices - 1) / slices, fit = shape.n_groups / workers;
    const size_t share = even < fit ? even : fit;
    const uint64_t by_poll = kRoundNs / group_ns;
    if (by_poll < share && by_poll < kWholeGroups) return 0;
    return share < by_poll ? share : static_cast<size_t>(by_poll);
}

Status run_whole_on_own_threads(const Whole &w, const Runner &runner, uint64_t group_ns) {
    const size_t unit = w.share < kLastGroups ? w.share : kLastGroups;
    const Loop loop = {w.end,
                       unit,
                       unit,
                       group_ns * 1000,
                       w.call->options.progress,
                       0,
                       w.n_chunks,
                       uint64_t(w.n_chunks) * w.end};
    const Status status = ggufx::run(runner.host, loop, Whole::chunk, &w);
    return status == Status::cancelled ? runner.cancelled() : status;
}

Status run_whole(Whole w, const Runner &runner, uint64_t group_ns) {
    if (runner.host.own_threads()) return run_whole_on_own_threads(w, runner, group_ns);
    const uint32_t workers = runner.host.max_workers();
    const size_t n_groups = w.end, turns = at_least_one(kRoundNs / (group_ns * w.share));
    const size_t step = turns * workers * w.share;
    const uint64_t total = uint64_t(w.n_chunks) * n_groups;
    Status status = Status::ok;
    for (w.first = 0; status == Status::ok && w.first < n_groups; w.first = w.end) {
        if (w.call->options.progress.cancelled(w.first * w.n_chunks, total))
            return runner.cancelled();
        w.end = n_groups - w.first < step ? n_groups : w.first + step;
        status = runner.run((w.end - w.first + w.share - 1) / w.share, Whole::task, &w);
    }
    return status;
}

// Returns the largest number of chunks of any sequence of the call.
size_t count_chunks(const AttendCall &call) {
    size_t most = 0;
    for (size_t i = 0; i < call.n_sequences; i++) {
        const size_t n = chunks_of(call.state->track(call.layer_index, call.sequences[i]));
        if (n > most) most = n;
    }
    return most;
}

// Estimated time of four rows over a full chunk, from measured picoseconds per coordinate, row and
// token.
uint64_t nanoseconds_per_chunk(const AttendCall &call) {
    const Config &c = call.state->config;
    const uint64_t values = uint64_t(c.head_dim_k) + c.head_dim_v;
    const uint64_t rows = call.n_queries * call.ratio();
    const uint64_t picoseconds = call.state->kernels->isa == kernels::Isa::scalar ? 8000 : 80;
    uint64_t parts = 1; // pages that hold few tokens cost as much as full ones
    for (size_t i = 0; i < call.n_sequences; i++) {
        const Track &track = call.state->track(call.layer_index, call.sequences[i]);
        const uint64_t held = track.n_tokens - track.n_dropped + uint64_t{2} * kPageTokens;
        const uint64_t ratio = uint64_t(track.n_pages) * kPageTokens / held;
        parts = ratio > parts ? ratio : parts;
    }
    return values * (rows < kRows ? rows : kRows) * kChunkTokens * parts * picoseconds / 1000 + 1;
}

} // namespace

Status run_groups(const AttendCall &call, const AttendShape &shape, const AttendSpace &space,
                  Failure *failure) {
    const size_t n_chunks = count_chunks(call), n_groups = call.n_groups();
    const uint64_t chunk_ns = nanoseconds_per_chunk(call), total = uint64_t(n_chunks) * n_groups;
    uint64_t tokens = 0;
    for (size_t i = 0; i < call.n_sequences && tokens < kChunkTokens; i++)
        tokens += call.state->track(call.layer_index, call.sequences[i]).n_tokens;
    const uint64_t full = tokens < kChunkTokens && call.n_sequences == 1
                              ? chunk_ns * (tokens + kPageTokens) / (kChunkTokens)
                              : chunk_ns;
    const Runner runner = {*call.state->host, total <= call.state->host->serial_ns() / full,
                           failure};
    const uint64_t group_ns = chunk_ns * at_least_one(n_chunks);
    if (const size_t share = whole_share(call, shape, runner, n_chunks, group_ns))
        return run_whole({&call, &space, 0, n_groups, share, n_chunks}, runner, group_ns);
    // slow kernels: fewer groups, so that a round stays short
    const uint64_t by_poll = kRoundNs / chunk_ns;
    const size_t fit = shape.n_groups < kMostGroups ? shape.n_groups : kMostGroups;
    const size_t most = at_least_one(by_poll < fit ? by_poll : fit);
    for (size_t first = 0; first < n_groups; first += most) {
        GroupBatch batch = {
            &call, &space, first,    n_groups - first < most ? n_groups - first : most,
            0,     0,      chunk_ns, 1};
        const Status status = run_batch(batch, shape, runner, n_chunks, first * n_chunks, total);
        if (status != Status::ok) return status;
    }
    return Status::ok;
}

} // namespace ggufx::kv
