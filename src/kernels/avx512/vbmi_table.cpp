// Layer of AVX-512 VBMI; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"

namespace ggufx::kernels {

constexpr Layer avx512vbmi::kLayer = {
    .isa = Isa::avx512,
    .name = "avx512vbmi",
    .matvec = avx512vbmi::kMatvec.of,
#ifndef GGUFX_SMALL
    .matvec_precise = avx512vbmi::kMatvecPrecise.of,
    .gemm = avx512vbmi::kGemm.of,
    .gemm_precise = avx512vbmi::kGemmPrecise.of,
    .kv_pages = &avx512vbmi::kKvPages,
#endif
};

} // namespace ggufx::kernels
