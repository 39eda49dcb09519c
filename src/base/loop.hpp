// A loop over rows, columns or blocks in chunks of at most about 1 ms: serially in the caller when
// small (a fork and join costs microseconds), else as tasks of the host's executor.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <stddef.h>
#include <stdint.h>

namespace ggufx {

// What the calling thread has to do besides a loop, such as writing what the last one made: with own
// threads while others have begun with the loop, else before it; in the caller's FP mode. Returns
// false to end the loop as if cancelled. Several loops may have the same one: all but the first call
// find nothing to do; a loop that is cancelled first does not call it.
struct Aside {
    void *user;
    bool (*work)(void *user); // throws nothing
};

struct Loop {
    size_t n;                 // items
    size_t unit;              // chunks are multiples of it (but the last one), >= 1
    size_t min_items;         // chunks worth a task, before the last few
    uint64_t picoseconds;     // estimated cost of one item on one core
    const Progress &progress; // polled before and within, on the caller's thread, in its FP mode
    uint64_t done, weight;    // reported: done + items * weight
    uint64_t total;
    bool fine_end = false; // the last units, one per worker, go item by item
    const Aside *aside = nullptr;
};

// One chunk; runs under the canonical floating-point environment. worker < host.max_workers().
using ChunkFn = void (*)(const void *ctx, size_t first, size_t count, uint32_t worker);

// Every item exactly once. Returns cancelled, or what the executor returned.
Status run(const Host &host, const Loop &loop, ChunkFn chunk, const void *ctx);

} // namespace ggufx
