// Row-wise products with int8 activations on AVX-512 VBMI: the IQ types with codebooks.
// SPDX-License-Identifier: MIT
#define GGUFX_PLANES 1
#define GGUFX_FAMILY kMatvec
#include "kernels/avx512/vbmi_array.hpp"
