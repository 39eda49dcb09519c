// n >= 4 columns of int8 activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PLANES 1
#define GGUFX_FAMILY kGemm
#include "kernels/loops/gemm_array.hpp"
