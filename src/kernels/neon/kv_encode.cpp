// Encoding pages of the KV cache: the loops for every type.
// SPDX-License-Identifier: MIT
#include "kernels/loops/kv_encode_gx.hpp"
#include "kernels/neon/encode_vec.hpp"

namespace ggufx {
namespace kernels {

const KvEncoders kNeonKvEncoders = kKvEncodersOf<neon::EncodeVec>;

} // namespace kernels
} // namespace ggufx
