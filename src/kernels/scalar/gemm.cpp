// n >= 4 columns with 8-bit activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PRECISE false
#define GGUFX_ARRAY kGemm
#include "kernels/scalar/gemm_array.hpp"
