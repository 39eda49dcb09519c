// SPDX-License-Identifier: MIT
#include "models/rank_speeds.hpp"

#include "common/memory_read.hpp"
#include "common/text.hpp"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr uint32_t kMostSpeed = 1u << 20;        // limit of the library in MB/s: 1 TB/s
constexpr size_t kReadBytes = size_t{128} << 20; // more than caches hold
constexpr double kSeconds = 0.05;                // shortest measurement
constexpr ReadVariant kVariant = {4, true};      // the access pattern of matrix products

// Returns the memory read bandwidth of this rank in MB/s.
uint32_t own_speed(const ggufx_runtime *rt, const ColdBuffer &buffer) {
    const unsigned threads = runtime_facts(rt).threads;
    double seconds = 0, n_bytes = 0;
    while (seconds < kSeconds) {
        const double gbps = read_gbps(rt, buffer.data(), buffer.size(), threads, kVariant);
        seconds += kReadBytes / (gbps * 1e9);
        n_bytes += kReadBytes;
    }
    return static_cast<uint32_t>(std::clamp(n_bytes / seconds / 1e6, 1.0, double{kMostSpeed}));
}

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

std::vector<uint32_t> measure_speeds(const Globals &globals, const ggufx_group &group,
                                     uint32_t timeout_ms) {
    const Runtime rt = make_runtime(globals);
    ColdBuffer buffer(kReadBytes);
    buffer.fill(std::vector<uint8_t>(size_t{1} << 20, 1));
    call([&](ggufx_error *error) { return group.barrier(group.user, timeout_ms, error); });
    const uint32_t own = own_speed(rt.get(), buffer);
    std::vector<uint32_t> all(group.size);
    call([&](ggufx_error *error) {
        return group.allgather(group.user, all.data(), &own, sizeof own, timeout_ms, error);
    });
    for (uint32_t rank = 0; rank < all.size(); rank++)
        if (all[rank] < 1 || all[rank] > kMostSpeed)
            throw Failure(
                kRuntimeError,
                fmt::format(
                    "--weights auto: rank {} measured a memory bandwidth of {} MB/s, not 1 to {}",
                    rank, all[rank], kMostSpeed));
    return all;
}

} // namespace ggufx::cli
