// Rows to quantize, from a fixed integer generator: the same bits on every host.
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

// Returns bell-shaped values, values with heavy tails, rounding ties, and edge cases: zeros,
// outliers, tiny and constant values.
std::vector<Rows> made_rows();

} // namespace golden
