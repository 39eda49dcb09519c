// n >= 4 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/formats.hpp"

#define GGUFX_SET avx512
#define GGUFX_ARRAY kAvx512GemmF32
#include "kernels/loops/gemm_f32_array.hpp"
