// Row-wise products (n = 1..3 columns) with 8-bit activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PRECISE false
#define GGUFX_FAMILY kMatvec
#include "kernels/scalar/matvec.hpp"
