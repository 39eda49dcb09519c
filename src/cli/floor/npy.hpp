// NumPy's file format, version 1.0: one array, little-endian, rows first to last.
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ggufx::cli {

// NumPy's name for the values of a tensor type ("<f2"); NULL where it has none: blocks and bf16.
const char *npy_descr(uint32_t type);

// Everything before the values. `shape` is outermost first, as NumPy counts.
std::string npy_header(const char *descr, const std::vector<uint64_t> &shape);

} // namespace ggufx::cli
