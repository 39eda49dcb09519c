// SPDX-License-Identifier: MIT
#pragma once

#include "formats/format.hpp"
#include "gguf/tensor.hpp"

namespace ggufx::gguf {

// A dense tensor of n_dims <= 4 dimensions: rows and bytes. Throws type, shape, overflow.
Tensor shaped_tensor(uint32_t type, uint32_t n_dims, const uint64_t *ne);

// ne1 * ne2 * ne3 of a tensor whose values fit 64 bits; 0 where the rows alone do not: it has no
// value.
uint64_t count_rows(const Tensor &t);

// Rows and bytes of a dense tensor from its dimensions, whose product is known to fit; of type
// null, which is unknown, the rows alone. False when the bytes do not fit 64 bits.
bool set_sizes(Tensor &t, const fmt::TypeInfo *type);

} // namespace ggufx::gguf
