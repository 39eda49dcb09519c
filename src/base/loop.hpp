// A loop over rows, columns or blocks in chunks of at most about 1 ms: serially in the caller when
// small (a fork and join costs microseconds), else as tasks of the host's executor.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx {

struct Loop {
    size_t n;                 // items
    size_t unit;              // chunks are multiples of it (but the last one), >= 1
    size_t min_items;         // chunks worth a task, before the last few
    uint64_t picoseconds;     // estimated cost of one item on one core
    const Progress &progress; // polled before and within, on the caller's thread, in its FP mode
    uint64_t done, weight;    // reported: done + items * weight
    uint64_t total;
    bool fine_end = false; // the last units, one per worker, go item by item
};

// One chunk; runs under the canonical floating-point environment. worker < host.max_workers().
using ChunkFn = void (*)(const void *ctx, size_t first, size_t count, uint32_t worker);

// Every item exactly once. Returns cancelled, or what the executor returned.
Status run(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx);

} // namespace ggufx
