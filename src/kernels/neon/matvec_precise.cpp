// n = 1..3 columns of 15-bit activations.
// SPDX-License-Identifier: MIT
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

#define GGUFX_PLANES 2
#define GGUFX_SET neon
#define GGUFX_ARRAY GGUFX_NEON_TABLE(MatvecPrecise)
#include "kernels/loops/matvec_array.hpp"
