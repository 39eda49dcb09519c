// Codebooks (grids) of the IQ types in device memory: bytes of grid rows, one table after the
// other.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::device {

constexpr uint64_t kNoCodebook = UINT64_MAX;

uint64_t codebooks_bytes();
void copy_codebooks(uint8_t *out);
uint64_t codebook_at(uint32_t type); // byte offset of the type's codebook, or kNoCodebook

} // namespace ggufx::device
