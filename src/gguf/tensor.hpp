// A typed, shaped, strided view of weight bytes, shared by files, wrapped memory and slices.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string_view>

namespace ggufx::gguf {

struct Tensor {
    std::string_view name;
    uint32_t type = 0; // GGUF type id, see formats/format.hpp
    uint32_t n_dims = 0;
    uint64_t ne[4] = {1, 1, 1, 1};
    uint64_t row_bytes = 0;
    uint64_t row_stride = 0;      // >= row_bytes; rows of all outer dimensions are evenly spaced
    uint64_t n_rows = 1;          // ne1 * ne2 * ne3
    uint64_t n_bytes = 0;         // n_rows * row_bytes
    uint64_t offset = UINT64_MAX; // from the start of the data section
    uint64_t file_offset = UINT64_MAX; // from the start of the file
    uint64_t info_offset = UINT64_MAX; // tensor directory entry in the file
    uint32_t part = 0;
    const uint8_t *data = nullptr; // null: not in memory

    uint64_t end() const { return offset + n_bytes; } // offset in the data section
};

} // namespace ggufx::gguf
