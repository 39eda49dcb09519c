// Row-wise products (n = 1..3 columns) with 15-bit activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PRECISE true
#define GGUFX_FAMILY kMatvecPrecise
#include "kernels/scalar/matvec.hpp"
