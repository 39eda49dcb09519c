// Blocked products (n >= 4 columns) with 8-bit activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PRECISE false
#define GGUFX_FAMILY kGemm
#include "kernels/scalar/gemm.hpp"
