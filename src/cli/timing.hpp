// Wall-clock timing for the demo and the benchmarks.
// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace ggufx::cli {

template <class Fn> double seconds_of(Fn &&fn) {
    const auto start = std::chrono::steady_clock::now();
    fn();
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    return elapsed.count();
}

inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Median time of one call, over as many calls as fit into `budget` seconds (at least three).
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
