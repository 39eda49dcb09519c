// n = 1..3 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

#define GGUFX_SET neon
#define GGUFX_ARRAY kNeonMatvecF32
#include "kernels/loops/matvec_f32_array.hpp"
