// AVX-512 quantization of KV cache pages, all types.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/encode_vec.hpp"
#include "kernels/loops/kv_encode_gx.hpp"

namespace ggufx {
namespace kernels {

const KvEncoders kAvx512KvEncoders = kKvEncodersOf<avx512::EncodeVec>;

} // namespace kernels
} // namespace ggufx
