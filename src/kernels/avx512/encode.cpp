// f32 to blocks.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/quant_vec.hpp"

#define GGUFX_SET avx512
#define GGUFX_ARRAY kAvx512Encode
#include "kernels/loops/encode_array.hpp"
