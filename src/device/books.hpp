// Codebooks of the types that have one, as a device keeps them: bytes of grid rows, one table after
// the other.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::device {

constexpr uint64_t kNoBook = UINT64_MAX;

uint64_t books_bytes();
void copy_books(uint8_t *out);
uint64_t book_at(uint32_t type); // where the type's begins, kNoBook: it has none

} // namespace ggufx::device
