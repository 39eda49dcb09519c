// JSON numbers with all their digits: bounds of a schema are compared with the digits of a number,
// not with a rounded float.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/host.hpp"

#include <string_view>

namespace ggufx::grammar {

// Digits that a number may have at most if its schema needs no more, so that a model cannot write
// digits for ever: before the decimal point, after it, in the exponent.
constexpr uint32_t kWholeDigits = 20, kFractionDigits = 20, kExponentDigits = 3;
constexpr int32_t kMostDigits = 400; // limit before the decimal point, after it, and in all

// 0.d1 d2 d3 ... * 10^exponent; neither the first nor the last digit is 0. No digits: 0.
struct Decimal {
    explicit Decimal(const Host *host) : digits(HostAllocator<char>(host)) {}
    Vector<char> digits;
    int32_t exponent = 0;
    bool negative = false;

    bool is_zero() const { return digits.empty(); }
    bool is_whole() const { return exponent >= static_cast<int32_t>(digits.size()); }
    // Digits before the decimal point ("0" if there are none), and after it.
    Vector<char> whole_part() const;
    Vector<char> fraction() const;
};

// Reads a JSON number. Returns false if it has more digits than allowed.
bool read_decimal(Decimal &out, std::string_view text);
int compare(const Decimal &a, const Decimal &b); // less than, equal to, greater than 0

} // namespace ggufx::grammar
