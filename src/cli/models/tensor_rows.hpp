// What the verbs that look at single tensors share: finding one, ranges of rows, exact values.
// SPDX-License-Identifier: MIT
#pragma once

#include "floor/api.hpp"

namespace ggufx::cli {

// Rows first..end-1, counted over all outer dimensions.
struct RowRange {
    uint64_t first;
    uint64_t end;
};

// "a:b" = rows a..b-1, either may be absent; "a" = one row; nothing = all.
RowRange parse_rows(const std::string &text, uint64_t n_rows);

// Shape as NumPy counts, outermost first: the tensor's, or [rows][columns] of a range.
std::vector<uint64_t> shape_of(const ggufx_tensor_facts &info);
std::vector<uint64_t> shape_of(const ggufx_tensor_facts &info, const RowRange &range);

// Throws Failure with the nearest name where there is none.
const ggufx_tensor *find_tensor(const ggufx_file *file, const std::string &name);
std::string tensor_name(const ggufx_tensor_facts &info);

// How many rows make about 256 K values, at least one.
uint64_t rows_at_once(uint64_t n_columns);

// Decoded rows first..first+n-1. I32, I64 and F64 keep what an f32 would lose.
std::vector<double> row_values(const ggufx_runtime *rt, const ggufx_tensor *tensor,
                               const ggufx_tensor_facts &info, uint64_t first, uint64_t n);
std::vector<float> row_floats(const ggufx_runtime *rt, const ggufx_tensor *tensor,
                              const ggufx_tensor_facts &info, uint64_t first, uint64_t n);

} // namespace ggufx::cli
