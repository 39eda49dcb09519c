// Table of row-wise products (n = 1..3 columns) with 15-bit activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PLANES 2
#define GGUFX_FAMILY kMatvecPrecise
#include "kernels/loops/matvec_array.hpp"
