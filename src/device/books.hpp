// Codebooks (grids) of the IQ types in device memory: bytes of grid rows, one table after the
// other.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::device {

constexpr uint64_t kNoBook = UINT64_MAX;

uint64_t books_bytes();
void copy_books(uint8_t *out);
uint64_t book_at(uint32_t type); // byte offset of the type's codebook, or kNoBook

} // namespace ggufx::device
