// AVX-512 kernels that quantize f32 to blocks.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/quant_vec.hpp"

#include "kernels/loops/encode_array.hpp"
