// Attention on pages: the loops for every kind of page; pages are encoded as avx2 does.
// SPDX-License-Identifier: MIT
#include "kernels/avxvnni/families.hpp"
#include "kernels/avxvnni/kv_vec.hpp"
#include "kernels/kv_encode.hpp"
#include "kernels/loops/kv_weigh.hpp"

namespace ggufx {
namespace kernels {

const KvPages kAvxVnniKvPages = kKvPagesOf<avxvnni::KvVec, kAvx2KvEncoders>;

} // namespace kernels
} // namespace ggufx
