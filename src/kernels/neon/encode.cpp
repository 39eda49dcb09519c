// f32 to blocks.
// SPDX-License-Identifier: MIT
#include "kernels/neon/quant_vec.hpp"

#define GGUFX_SET neon
#define GGUFX_ARRAY kNeonEncode
#include "kernels/loops/encode_array.hpp"
