// Timing of several threads that run the same work, for rooflines of benchmarks.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/timing.hpp"

#include <atomic>
#include <latch>
#include <thread>
#include <vector>

namespace ggufx::cli {

// Calls fn(i) in `threads` threads, i = 0 in this one. Returns the time from the moment all run
// until the last one is done. The start of threads is not counted, as it takes a tenth of the
// millisecond that a roofline runs: the other threads spin until the start.
template <class Fn> double team_seconds(Clock clock, unsigned threads, Fn &&fn) {
    std::latch ready(threads - 1), done(threads - 1);
    std::atomic<bool> go = false;
    std::vector<std::jthread> others;
    for (unsigned i = 1; i < threads; i++) {
        others.emplace_back([&, i] {
            ready.count_down();
            while (!go.load(std::memory_order_acquire)) {}
            fn(i);
            done.count_down();
        });
    }
    ready.wait();
    return seconds_of(clock, threads, [&] {
        go.store(true, std::memory_order_release);
        fn(0u);
        done.wait();
    });
}

} // namespace ggufx::cli
