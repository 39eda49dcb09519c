// Types that can be written, and the inputs of their encoders.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/encode.hpp"

namespace ggufx::quant {

// Returns null for types without an encoder: integers, F64, activation types, unknown ids.
const kernels::Encode *encoder(uint32_t type);

} // namespace ggufx::quant
