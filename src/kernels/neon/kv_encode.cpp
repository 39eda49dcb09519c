// NEON quantization of KV cache pages, all types.
// SPDX-License-Identifier: MIT
#include "kernels/loops/kv_encode_gx.hpp"
#include "kernels/neon/encode_vec.hpp"

namespace ggufx {
namespace kernels {

const KvEncoders kNeonKvEncoders = kKvEncodersOf<neon::EncodeVec>;

} // namespace kernels
} // namespace ggufx
