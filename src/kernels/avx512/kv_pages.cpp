// AVX-512 attention on KV cache pages of every kind.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

#ifdef GGUFX_SMALL
const KvPages GGUFX_LAYER::kKvPages = kKvPagesOf<avx512::KvVec, kAvx2KvEncoders>;
#else
const KvPages GGUFX_LAYER::kKvPages = kKvPagesOf<avx512::KvVec, kAvx512KvEncoders>;
#endif

} // namespace kernels
} // namespace ggufx
