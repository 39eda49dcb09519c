// Orthogonal transforms inside types: signs, then Walsh-Hadamard transforms of equal blocks.
// SPDX-License-Identifier: MIT
#pragma once

#include <stdint.h>

namespace ggufx::kv {

// Natural (Sylvester) order, not normalised; n is a power of two. (a, b) -> (a + b, a - b) at
// distances 1, 2, 4, ...
void hadamard(float *x, uint32_t n);

// A whole head of n values: signs (bit 31 of (i + 1) * 0x9e3779b9: negative), then blocks of the
// largest power of two that divides n, times fl(1 / sqrt(block)). unrotate_head is its inverse.
void rotate_head(float *x, uint32_t n);
void unrotate_head(float *x, uint32_t n);

} // namespace ggufx::kv
