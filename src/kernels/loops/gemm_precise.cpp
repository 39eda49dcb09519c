// n >= 4 columns of 15-bit activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PLANES 2
#define GGUFX_FAMILY kGemmPrecise
#include "kernels/loops/gemm_array.hpp"
