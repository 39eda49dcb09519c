// f32 to blocks.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/quant_vec.hpp"

#define GGUFX_SET avx2
#define GGUFX_ARRAY kAvx2Encode
#include "kernels/loops/encode_array.hpp"
