// Blocks to f32.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"

#define GGUFX_SET avx2
#define GGUFX_ARRAY kAvx2Dequant
#include "kernels/loops/dequant_array.hpp"
