// Blocked products (n >= 4 columns) with 15-bit activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PRECISE true
#define GGUFX_FAMILY kGemmPrecise
#include "kernels/scalar/gemm.hpp"
