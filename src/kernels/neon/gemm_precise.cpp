// n >= 4 columns of 15-bit activations.
// SPDX-License-Identifier: MIT
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

#define GGUFX_PLANES 2
#define GGUFX_SET neon
#define GGUFX_ARRAY GGUFX_NEON_TABLE(GemmPrecise)
#include "kernels/loops/gemm_array.hpp"
