// n >= 4 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

#define GGUFX_SET neon
#define GGUFX_ARRAY kNeonGemmF32
#include "kernels/loops/gemm_f32_array.hpp"
