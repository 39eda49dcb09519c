// n >= 4 columns of int8 activations.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"
#include "kernels/avx2/tile_products.hpp"

#define GGUFX_PLANES 1
#define GGUFX_SET avx2
#define GGUFX_ARRAY kAvx2Gemm
#include "kernels/loops/gemm_array.hpp"
