// Attention on pages: the loops for every kind of page.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

const KvPages kAvx2KvPages = kKvPagesOf<avx2::KvVec, kAvx2KvEncoders>;

} // namespace kernels
} // namespace ggufx
