// The AVX-512 layer of the small library: what multiplies in default mode, and KV pages. The rest
// is AVX2's.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"

namespace ggufx {
namespace kernels {

const Layer avx512::kLayer = {
    .isa = Isa::avx512,
    .name = "avx512",
    .matvec = avx512::kMatvec,
    .gemm = avx512::kGemm,
    .kv_pages = &avx512::kKvPages,
};

} // namespace kernels
} // namespace ggufx
