// Rows to encode, from a fixed integer generator: the same bits on every host.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>

#include <vector>

namespace golden {

struct Rows {
    const char *name;
    size_t n_columns;
    std::vector<float> x, imatrix; // [rows][n_columns], [n_columns]
};

// Bell-shaped values, values with heavy tails, ties of rounding, and edge cases: zeros, outliers,
// tiny and constant values.
std::vector<Rows> made_rows();

} // namespace golden
