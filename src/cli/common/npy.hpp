// NumPy's file format (.npy), version 1.0: one array, little-endian, in C order.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ggufx::cli {

// Returns NumPy's name for the values of a tensor type ("<f2"); NULL for bf16 and block formats.
const char *npy_descr(uint32_t type);

// Returns everything before the values. `shape` is outermost first, as in NumPy.
std::string npy_header(const char *descr, const std::vector<uint64_t> &shape);

} // namespace ggufx::cli
