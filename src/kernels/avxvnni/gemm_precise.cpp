// n >= 4 columns of 15-bit activations: avx2's formats with the products of this set.
// SPDX-License-Identifier: MIT
#include "kernels/avxvnni/families.hpp"
#include "kernels/avxvnni/products.hpp"

#include "kernels/avx2/formats.hpp"

#define GGUFX_PLANES 2
#define GGUFX_SET avx2
#define GGUFX_ARRAY kAvxVnniGemmPrecise
#include "kernels/loops/gemm_array.hpp"
