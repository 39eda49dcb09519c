// n = 1..3 columns of int8 activations: the IQ types with codebooks.
// SPDX-License-Identifier: MIT
#define GGUFX_PLANES 1
#define GGUFX_FAMILY kMatvec
#include "kernels/avx512/vbmi_array.hpp"
