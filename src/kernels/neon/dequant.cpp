// Blocks to f32.
// SPDX-License-Identifier: MIT
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

#define GGUFX_SET neon
#define GGUFX_ARRAY kNeonDequant
#include "kernels/loops/dequant_array.hpp"
