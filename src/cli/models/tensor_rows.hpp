// Shared by commands that read single tensors: lookup by name, ranges of rows, exact values.
// SPDX-License-Identifier: MIT
#pragma once

#include "common/api.hpp"

namespace ggufx::cli {

// Rows first..end-1, counted over all outer dimensions.
struct RowRange {
    uint64_t first;
    uint64_t end;
};

// Parses "a:b" = rows a..b-1, either may be absent; "a" = one row; "" = all.
RowRange parse_rows(const std::string &text, uint64_t n_rows);

// Returns the shape of a tensor, or [rows][columns] of a range, outermost first as in NumPy.
std::vector<uint64_t> shape_of(const ggufx_tensor_facts &info);
std::vector<uint64_t> shape_of(const ggufx_tensor_facts &info, const RowRange &range);

// Throws Failure with the nearest name if the tensor does not exist.
const ggufx_tensor *find_tensor(const ggufx_file *file, const std::string &name);
std::string tensor_name(const ggufx_tensor_facts &info);

// Returns the number of rows with about 256 K values, at least one.
uint64_t rows_at_once(uint64_t n_columns);

// Returns dequantized rows first..first+n-1. row_values() reads I32, I64 and F64 as double.
std::vector<double> row_values(const ggufx_runtime *rt, const ggufx_tensor *tensor,
                               const ggufx_tensor_facts &info, uint64_t first, uint64_t n);
std::vector<float> row_floats(const ggufx_runtime *rt, const ggufx_tensor *tensor,
                              const ggufx_tensor_facts &info, uint64_t first, uint64_t n);

} // namespace ggufx::cli
