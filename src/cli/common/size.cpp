// A number with an optional fraction, and a unit. The whole part is parsed as an integer, so that
// 2^64 - 1 bytes are not rounded.
// SPDX-License-Identifier: MIT
#include "common/size.hpp"

#include "common/text.hpp"
#include "common/tool.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <string_view>

namespace ggufx::cli {

// Returns the bytes of a unit ("", "B", "K", "KiB", "KB", in any case); 0 for any other text.
static uint64_t unit_bytes(std::string_view suffix) {
    std::string unit;
    for (const char c : suffix)
        unit += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    if (unit.empty() || unit == "B") return 1;
    const size_t power = std::string_view("KMGT").find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (power == std::string_view::npos) return 0;
    uint64_t out = 1;
    for (size_t i = 0; i <= power; i++) out *= rest == "B" ? 1000u : 1024u;
    return rest.empty() || rest == "B" || rest == "IB" ? out : 0;
}

uint64_t parse_size(const std::string &text, const char *option) {
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const size_t unit = digits < text.size() && text[digits] == ' ' ? digits + 1 : digits;
    const std::string_view number = std::string_view(text).substr(0, digits);
    const size_t point = std::min(number.find('.'), number.size());
    const uint64_t scale = unit_bytes(std::string_view(text).substr(unit));
    uint64_t whole = 0;
    double part = 0;
    const auto read = [](std::string_view from, auto &to) {
        const auto [end, error] = std::from_chars(from.data(), from.data() + from.size(), to);
        return error == std::errc() && end == from.data() + from.size();
    };
    const std::string_view before = number.substr(0, point), behind = number.substr(point);
    const bool has_part = behind.size() > 1 && scale > 1; // bytes have no fraction
    const bool good = (read(before, whole) || (before.empty() && has_part)) &&
                      (behind.empty() || (has_part && read(std::string("0").append(behind), part)));
    const auto more = static_cast<uint64_t>(std::llround(part * static_cast<double>(scale)));
    if (!good || scale == 0 || whole > (UINT64_MAX - more) / scale || whole * scale + more == 0) {
        throw Failure(kUsage, std::string(option) + ": \"" + escape(text) +
                                  "\" is not a size (1000, 64K, 1.5G, 8GiB, 16GB; G and GiB are "
                                  "2^30, GB is 10^9)");
    }
    return whole * scale + more;
}

} // namespace ggufx::cli
