// JSON numbers with all their digits, see decimal.hpp.
// SPDX-License-Identifier: MIT
#include "grammar/decimal.hpp"

#include <algorithm>

namespace ggufx::grammar {

namespace {

bool is_decimal_digit(char c) {
    return c >= '0' && c <= '9';
}

// Reads the exponent after `e`, limited to +-2^28.
int32_t read_exponent(std::string_view text) {
    constexpr int64_t most = 1 << 28;
    const bool negative = text[0] == '-';
    int64_t out = 0;
    for (const char c : text)
        if (is_decimal_digit(c)) out = std::min(most, out * 10 + (c - '0'));
    return static_cast<int32_t>(negative ? -out : out);
}

} // namespace

Vector<char> Decimal::whole_part() const {
    Vector<char> out{digits.get_allocator()};
    for (int32_t i = 0; i < exponent; i++)
        out.push_back(i < static_cast<int32_t>(digits.size()) ? digits[static_cast<size_t>(i)]
                                                              : '0');
    if (out.empty()) out.push_back('0');
    return out;
}

Vector<char> Decimal::fraction() const {
    Vector<char> out{digits.get_allocator()};
    const auto n = static_cast<int32_t>(digits.size());
    for (int32_t i = exponent; i < n; i++)
        out.push_back(i < 0 ? '0' : digits[static_cast<size_t>(i)]);
    return out;
}

bool read_decimal(Decimal &out, std::string_view text) {
    const size_t e = text.find_first_of("eE");
    const std::string_view mantissa = text.substr(0, e);
    out.digits.clear();
    out.negative = text[0] == '-';
    int64_t exponent = e == text.npos ? 0 : read_exponent(text.substr(e + 1));
    bool behind_point = false;
    for (const char c : mantissa) {
        if (c == '.') behind_point = true;
        if (!is_decimal_digit(c)) continue;
        if (out.digits.empty() && c == '0') { // a leading zero
            exponent -= behind_point;
            continue;
        }
        exponent += !behind_point;
        out.digits.push_back(c);
    }
    while (!out.digits.empty() && out.digits.back() == '0') out.digits.pop_back();
    if (out.digits.empty()) exponent = 0, out.negative = false;
    const auto n = static_cast<int64_t>(out.digits.size());
    if (exponent > kMostDigits || n - exponent > kMostDigits || n > kMostDigits) return false;
    out.exponent = static_cast<int32_t>(exponent);
    return true;
}

int compare(const Decimal &a, const Decimal &b) {
    const int sign_a = a.is_zero() ? 0 : a.negative ? -1 : 1;
    const int sign_b = b.is_zero() ? 0 : b.negative ? -1 : 1;
    if (sign_a != sign_b || sign_a == 0) return sign_a - sign_b;
    if (a.exponent != b.exponent) return (a.exponent < b.exponent ? -1 : 1) * sign_a;
    const bool less = std::lexicographical_compare(a.digits.begin(), a.digits.end(),
                                                   b.digits.begin(), b.digits.end());
    return a.digits == b.digits ? 0 : less ? -sign_a : sign_a;
}

} // namespace ggufx::grammar
