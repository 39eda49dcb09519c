// n >= 4 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"

#define GGUFX_SET avx2
#define GGUFX_ARRAY kAvx2GemmF32
#include "kernels/loops/gemm_f32_array.hpp"
