// SPDX-License-Identifier: MIT
#include "models/rank_speeds.hpp"

#include "floor/text.hpp"
#include "floor/timing.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <fmt/format.h>
#include <thread>

namespace ggufx::cli {

namespace {

constexpr uint32_t kMostSpeed = 1u << 20, kFastest = 1000; // of the fastest rank that is measured
constexpr size_t kBytes = size_t{128} << 20;               // more than caches hold
constexpr double kSeconds = 0.05;                          // at least

// Memory that is read with all threads, in pieces that they take in turn.
class Probe {
public:
    explicit Probe(unsigned threads) : threads_(threads), words_(kBytes / sizeof(uint64_t), 1) {}

    double bytes_per_second() {
        double bytes = 0, seconds = 0;
        while (seconds < kSeconds) {
            seconds += seconds_of([&] { read_all(); });
            bytes += kBytes;
        }
        return bytes / seconds;
    }

private:
    void read_all() {
        next_ = 0;
        std::vector<std::jthread> others;
        for (unsigned i = 1; i < threads_; i++) others.emplace_back([&] { read_pieces(); });
        read_pieces();
    }
    void read_pieces() {
        constexpr size_t kPiece = size_t{1} << 17; // words
        uint64_t sum = 0;
        for (size_t at; (at = next_.fetch_add(kPiece)) < words_.size();)
            for (size_t i = at; i < at + kPiece; i++) sum += words_[i];
        sum_ += sum; // keeps the loads alive
    }

    const unsigned threads_;
    std::vector<uint64_t> words_;
    std::atomic<size_t> next_ = 0;
    std::atomic<uint64_t> sum_ = 0;
};

} // namespace

std::vector<uint32_t> parse_speeds(const std::string &text) {
    std::vector<uint32_t> speeds;
    const char *at = text.data(), *const end = at + text.size();
    for (;; at++) {
        uint32_t speed = 0;
        const auto [next, error] = std::from_chars(at, end, speed);
        if (error != std::errc() || speed < 1 || speed > kMostSpeed) break;
        speeds.push_back(speed);
        at = next;
        if (at == end) return speeds;
        if (*at != ',') break;
    }
    throw Failure(kUsage, fmt::format("--weights: \"{}\" is neither auto nor a list of numbers "
                                      "from 1 to {}, one for each rank",
                                      escape(text), kMostSpeed));
}

std::vector<uint32_t> measure_speeds(const ggufx_group &group, unsigned threads,
                                     uint32_t timeout_ms) {
    if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
    Probe probe(threads);
    call([&](ggufx_error *error) { return group.barrier(group.user, timeout_ms, error); });
    const double own = probe.bytes_per_second();
    std::vector<double> all(group.size);
    call([&](ggufx_error *error) {
        return group.allgather(group.user, all.data(), &own, sizeof own, timeout_ms, error);
    });
    const double fastest = *std::max_element(all.begin(), all.end());
    std::vector<uint32_t> speeds;
    for (const double speed : all)
        speeds.push_back(
            std::max(1u, static_cast<uint32_t>(std::lround(kFastest * speed / fastest))));
    return speeds;
}

} // namespace ggufx::cli
