// Row-wise products with 15-bit activations on AVX-512 VBMI: the IQ types with codebooks.
// SPDX-License-Identifier: MIT
#define GGUFX_PLANES 2
#define GGUFX_FAMILY kMatvecPrecise
#include "kernels/avx512/vbmi_array.hpp"
