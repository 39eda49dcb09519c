// Benchmark of fork-join: time of a job beyond its tasks. One task of 5 us per thread, after
// pauses.
// usage: fork_join THREADS...     (tests/bench/products.md, Threads)
// SPDX-License-Identifier: MIT
#include "base/host.hpp"
#include "base/thread.hpp"

#include <algorithm>
#include <stdio.h>
#include <stdlib.h>
#include <vector>

using namespace ggufx;

namespace {

constexpr int64_t kTaskNs = 5000;

void work_for(int64_t ns) {
    const int64_t end = monotonic_ns() + ns;
    while (monotonic_ns() < end) {}
}

struct Times {
    std::vector<int64_t> ns;
    double us(double share) {
        const auto at = ns.begin() + static_cast<ptrdiff_t>(share * double(ns.size() - 1));
        std::nth_element(ns.begin(), at, ns.end());
        return double(*at) / 1000;
    }
};

Times measure(const Host &host, int64_t pause_ns, int rounds) {
    const auto task = [](void *, uint32_t, uint32_t) { work_for(kTaskNs); };
    Times above;
    for (int i = 0; i < rounds; i++) {
        work_for(pause_ns);
        const int64_t begin = monotonic_ns();
        (void)host.parallel_for(host.max_workers(), task, nullptr);
        above.ns.push_back(monotonic_ns() - begin - kTaskNs);
    }
    return above;
}

} // namespace

int main(int argc, char **argv) {
    printf("threads  pause us  above the tasks' time, us: 10 %%, median, 90 %%\n");
    for (int i = 1; i < argc; i++) {
        const auto threads = static_cast<uint32_t>(strtoul(argv[i], nullptr, 10));
        const auto host = Host::create({nullptr, nullptr, nullptr, threads});
        (void)measure(*host, 0, 100);
        for (const int64_t pause_us : {0, 15, 50, 500}) {
            Times above = measure(*host, pause_us * 1000, pause_us < 500 ? 2000 : 300);
            printf("%7u %9d  %.2f  %.2f  %.2f\n", threads, int(pause_us), above.us(0.1),
                   above.us(0.5), above.us(0.9));
        }
    }
}
