// n = 1..3 columns of 15-bit activations: the IQ types with codebooks.
// SPDX-License-Identifier: MIT
#define GGUFX_PLANES 2
#define GGUFX_FAMILY kMatvecPrecise
#include "kernels/avx512/vbmi_array.hpp"
