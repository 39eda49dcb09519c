// Checks of numbers on the command line, before CLI11 parses them. CLI11 reads "" as 0, "-1" as
// 2^64 - 1, numbers that are too large as the largest and "010" as 8, and nan passes every range.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/text.hpp"

#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <type_traits>

namespace ggufx::cli {

// Returns an error message for `text` as a T, or an empty string. A valid whole number becomes
// decimal, without leading zeros.
template <class T> std::string check_number(std::string &text) {
    constexpr bool kWhole = std::is_integral_v<T>;
    const bool hex = kWhole && (text.starts_with("0x") || text.starts_with("0X"));
    const char *first = text.data() + (hex ? 2 : 0), *last = text.data() + text.size();
    std::conditional_t<kWhole, T, double> number = 0;
    std::from_chars_result read;
    if constexpr (kWhole) {
        read = std::from_chars(first, last, number, hex ? 16 : 10);
    } else {
        read = std::from_chars(first, last, number);
    }
    const bool large = read.ec == std::errc::result_out_of_range;
    if (kWhole && large && read.ptr == last) {
        const auto most = std::to_string(std::numeric_limits<T>::max());
        return cli::in_quotes(text) + " is larger than " + most;
    }
    const bool whole_text = read.ec == std::errc() && read.ptr == last;
    if (!whole_text || !std::isfinite(static_cast<double>(number))) {
        return cli::in_quotes(text) + (kWhole ? " is not a whole number" : " is not a number");
    }
    if constexpr (kWhole) text = std::to_string(number);
    return "";
}

} // namespace ggufx::cli
