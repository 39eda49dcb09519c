// n = 1..3 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"

#define GGUFX_SET avx2
#define GGUFX_ARRAY kAvx2MatvecF32
#include "kernels/loops/matvec_f32_array.hpp"
