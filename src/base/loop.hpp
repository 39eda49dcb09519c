// Parallel loop over rows, columns or blocks in chunks of at most about 1 ms. Small loops run
// serially on the caller, because a fork-join costs microseconds; others run as tasks of the host's
// executor.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx {

// Side work of the calling thread, such as writing the previous loop's output; runs in the caller's
// FP mode. With the own pool it runs while other threads work on the loop, otherwise before the
// loop. Returns false to end the loop as if cancelled. Several loops may share one Aside: calls
// after the first find nothing to do. A loop that is cancelled early may not call it.
struct Aside {
    void *user;
    bool (*work)(void *user); // throws nothing
};

struct Loop {
    size_t n;                 // items
    size_t unit;              // chunks are multiples of it, except the last; >= 1
    size_t min_items;         // minimum chunk worth a task, except at the end
    uint64_t picoseconds;     // estimated cost of one item on one core
    const Progress &progress; // polled before and during the loop, by the caller, in its FP mode
    uint64_t done, weight;    // reported: done + items * weight
    uint64_t total;
    bool fine_end = false; // the last units, one per worker, are scheduled item by item
    const Aside *aside = nullptr;
    // Each worker starts in a range of its own and takes its chunks in order, so that it reads on
    // where its last chunk ended. A worker without work takes chunks from the ends of other ranges.
    bool own_ranges = false;

    // Reports progress after `first` items.
    bool cancelled(size_t first) const { return progress.cancelled(done + first * weight, total); }
};

// Processes one chunk under the canonical floating-point environment. worker < host.max_workers().
using ChunkFn = void (*)(const void *ctx, size_t first, size_t count, uint32_t worker);

// Ranges of items: whole units, equal up to one unit.
class EvenRanges {
public:
    EvenRanges(size_t n, size_t unit, uint32_t n_ranges)
        : n_(n), unit_(unit), even_((n + unit - 1) / unit / n_ranges),
          odd_((n + unit - 1) / unit % n_ranges) {}
    size_t start(uint32_t range) const { // n for the range after the last
        const size_t first = (range * even_ + (range < odd_ ? range : odd_)) * unit_;
        return first < n_ ? first : n_;
    }
    // Returns the range of an item < n.
    uint32_t of(size_t item) const {
        const size_t at = item / unit_, longer = odd_ * (even_ + 1);
        return static_cast<uint32_t>(at < longer ? at / (even_ + 1) : odd_ + (at - longer) / even_);
    }

private:
    size_t n_, unit_;
    size_t even_, odd_; // units of a range; the first odd_ ranges have one more
};

// Returns the ranges of a loop with own_ranges: one per worker; one in all if the loop runs on the
// calling thread.
EvenRanges ranges_of(const Host &host, const Loop &loop);

// Processes every item exactly once. Returns ok, cancelled, or the executor's status.
Status run(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx);

} // namespace ggufx
