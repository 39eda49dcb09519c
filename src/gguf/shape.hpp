// SPDX-License-Identifier: MIT
#pragma once

#include "gguf/tensor.hpp"

namespace ggufx::gguf {

// A dense tensor of n_dims <= 4 dimensions: rows and bytes. Throws type, shape, overflow.
Tensor shaped_tensor(uint32_t type, uint32_t n_dims, const uint64_t *ne);

} // namespace ggufx::gguf
