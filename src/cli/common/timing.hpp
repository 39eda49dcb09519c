// Clocks, and timing for the demo and the benchmarks.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <ctime>
#include <vector>

namespace ggufx::cli {

inline double monotonic_seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

template <class Fn> double seconds_of(Fn &&fn) {
    const auto start = std::chrono::steady_clock::now();
    fn();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count();
}

// Clock of a benchmark: wall time, or CPU time of the process divided by its threads. CPU time does
// not grow on a busy machine, but hides idle threads.
enum class Clock { wall, cpu };

template <class Fn> double seconds_of(Clock clock, unsigned threads, Fn &&fn) {
    if (clock == Clock::wall) return seconds_of(fn);
    const auto now = [] {
        timespec t;
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
    };
    const double start = now();
    fn();
    return (now() - start) / threads;
}

inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Returns the median time of one call, over as many calls as fit into `budget` seconds (at least
// three).
template <class Fn> double median_seconds(double budget, Fn &&fn) {
    std::vector<double> times;
    double total = 0;
    while (times.size() < 3 || total < budget) {
        times.push_back(seconds_of(fn));
        total += times.back();
    }
    return median(times);
}

} // namespace ggufx::cli
