// n = 1..3 columns of 15-bit activations.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"

#define GGUFX_PLANES 2
#define GGUFX_SET avx2
#define GGUFX_ARRAY kAvx2MatvecPrecise
#include "kernels/loops/matvec_array.hpp"
