// SPDX-License-Identifier: MIT
#pragma once

#include "formats/format.hpp"
#include "gguf/tensor.hpp"

namespace ggufx::gguf {

// Returns a dense tensor of n_dims <= 4 dimensions, with its rows and bytes. Throws type, shape,
// overflow.
Tensor shaped_tensor(uint32_t type, uint32_t n_dims, const uint64_t *ne);

// Returns ne1 * ne2 * ne3 of a tensor whose number of values fits 64 bits. Returns 0 if this
// product overflows: such a tensor has no values.
uint64_t count_rows(const Tensor &t);

// Sets rows and bytes of a dense tensor from its dimensions, whose product is known to fit. With
// type null (unknown) sets the rows only. Returns false if the bytes do not fit 64 bits.
bool set_sizes(Tensor &t, const fmt::TypeInfo *type);

} // namespace ggufx::gguf
