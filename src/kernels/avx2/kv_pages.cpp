// AVX2 attention on KV cache pages of every kind.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

const KvPages GGUFX_LAYER::kKvPages = kKvPagesOf<avx2::KvVec, kAvx2KvEncoders>;

} // namespace kernels
} // namespace ggufx
