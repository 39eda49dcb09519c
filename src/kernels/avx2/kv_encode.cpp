// AVX2 quantization of KV cache pages, all types.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/encode_vec.hpp"
#include "kernels/loops/kv_encode_gx.hpp"

namespace ggufx {
namespace kernels {

const KvEncoders kAvx2KvEncoders = kKvEncodersOf<avx2::EncodeVec>;

} // namespace kernels
} // namespace ggufx
