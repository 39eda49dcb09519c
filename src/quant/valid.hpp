// Scales of encoded blocks: what the reference refuses to write.
// SPDX-License-Identifier: MIT
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace ggufx::quant {

// Index of the first of n_blocks blocks with a scale that is not finite, SIZE_MAX when all are.
size_t first_bad_block(uint32_t type, const uint8_t *blocks, size_t n_blocks);

} // namespace ggufx::quant
