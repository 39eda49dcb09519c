// NEON attention on KV cache pages of every kind.
// SPDX-License-Identifier: MIT
#include "kernels/kv_encode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/kv_weigh.hpp"
#include "kernels/neon/kv_vec.hpp"

namespace ggufx {
namespace kernels {

const KvPages GGUFX_LAYER::kKvPages = kKvPagesOf<neon::KvVec, kNeonKvEncoders>;

} // namespace kernels
} // namespace ggufx
