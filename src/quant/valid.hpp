// Check of scales in encoded blocks; the reference refuses to write invalid ones.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::quant {

// Returns the index of the first of n_blocks blocks with a scale that is not finite, SIZE_MAX if
// all are finite.
size_t first_bad_block(uint32_t type, const uint8_t *blocks, size_t n_blocks);

} // namespace ggufx::quant
