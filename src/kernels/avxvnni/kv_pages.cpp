// Attention on pages: the loops for every kind of page; pages are encoded as avx2 does.
// SPDX-License-Identifier: MIT
#include "kernels/avxvnni/kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

const KvPages GGUFX_LAYER::kKvPages = kKvPagesOf<avxvnni::KvVec, kAvx2KvEncoders>;

} // namespace kernels
} // namespace ggufx
