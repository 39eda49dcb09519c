// SPDX-License-Identifier: MIT
#include "models/rank_names.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace ggufx::cli {

namespace {

constexpr size_t kRankDigits = 5;

std::string number_of(uint32_t rank) {
    return fmt::format("{:05}", rank + 1);
}

// Returns the part of a name after the rank's number.
std::string tail_of(uint32_t n) {
    return fmt::format("-of-{:05}.gguf", n);
}

} // namespace

std::vector<std::string> rank_names(const std::string &prefix, uint32_t n) {
    constexpr std::string_view kSuffix = ".gguf";
    const std::string begin =
        prefix.ends_with(kSuffix) ? prefix.substr(0, prefix.size() - kSuffix.size()) : prefix;
    std::vector<std::string> names;
    for (uint32_t rank = 0; rank < n; rank++)
        names.push_back(begin + "-rank-" + number_of(rank) + tail_of(n));
    return names;
}

std::string own_name(const std::string &path, uint32_t rank, uint32_t n) {
    const std::string tail = tail_of(n);
    if (path.size() < tail.size() + kRankDigits || !path.ends_with(tail)) return path;
    const size_t at = path.size() - tail.size() - kRankDigits;
    const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
    const auto digits = path.begin() + static_cast<std::ptrdiff_t>(at);
    if (!path.substr(0, at).ends_with("-rank-") ||
        !std::all_of(digits, digits + kRankDigits, is_digit))
        return path;
    return path.substr(0, at) + number_of(rank) + tail;
}

} // namespace ggufx::cli
