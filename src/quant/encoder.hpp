// Which types can be written, and what their encoders are to be told.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/encode.hpp"

namespace ggufx::quant {

// nullptr for types that have no encoder: integers, F64, activation types, unknown ids.
const kernels::Encode *encoder(uint32_t type);

} // namespace ggufx::quant
