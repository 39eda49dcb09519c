// n >= 4 columns of int8 activations.
// SPDX-License-Identifier: MIT
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

#define GGUFX_PLANES 1
#define GGUFX_SET neon
#define GGUFX_ARRAY GGUFX_NEON_TABLE(Gemm)
#include "kernels/loops/gemm_array.hpp"
