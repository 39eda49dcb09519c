// Table of row-wise products (n = 1..3 columns) with int8 activations.
// SPDX-License-Identifier: MIT
#define GGUFX_PLANES 1
#define GGUFX_FAMILY kMatvec
#include "kernels/loops/matvec_array.hpp"
