// n >= 4 columns of 15-bit activations.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"
#include "kernels/avx2/tile_products.hpp"

#define GGUFX_PLANES 2
#define GGUFX_SET avx2
#define GGUFX_ARRAY kAvx2GemmPrecise
#include "kernels/loops/gemm_array.hpp"
