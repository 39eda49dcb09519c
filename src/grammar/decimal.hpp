// Numbers of JSON with all their digits: bounds of a schema are compared with digits that a text has,
// not with a float's.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::grammar {

constexpr int32_t kMostDigits = 400; // of a decimal, in front of its point and behind it

// 0.d1 d2 d3 ... * 10^exponent; neither the first nor the last digit is 0. Without digits it is 0.
struct Decimal {
    explicit Decimal(const Host *host) : digits(HostAllocator<char>(host)) {}
    Vector<char> digits;
    int32_t exponent = 0;
    bool negative = false;

    bool is_zero() const { return digits.empty(); }
    bool is_whole() const { return exponent >= static_cast<int32_t>(digits.size()); }
    // Digits in front of the point ("0" where there are none) and behind it.
    Vector<char> whole_part() const;
    Vector<char> fraction() const;
};

// A number of JSON. False: it has more digits than allowed.
bool read_decimal(Decimal &out, std::string_view text);
int compare(const Decimal &a, const Decimal &b); // less than, equal to, greater than 0

} // namespace ggufx::grammar
