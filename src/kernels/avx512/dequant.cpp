// Blocks to f32.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/formats.hpp"

#define GGUFX_SET avx512
#define GGUFX_ARRAY kAvx512Dequant
#include "kernels/loops/dequant_array.hpp"
