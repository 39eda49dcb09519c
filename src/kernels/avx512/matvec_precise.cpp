// n = 1..3 columns of 15-bit activations.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/formats.hpp"

#define GGUFX_PLANES 2
#define GGUFX_SET avx512
#define GGUFX_ARRAY kAvx512MatvecPrecise
#include "kernels/loops/matvec_array.hpp"
