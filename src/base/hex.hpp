// Values of hexadecimal digits.
// SPDX-License-Identifier: MIT
#pragma once

namespace ggufx {

// Returns 0 .. 15, or -1 for any other character.
constexpr int hex_value(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    const int lower = c | 32;
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

} // namespace ggufx
