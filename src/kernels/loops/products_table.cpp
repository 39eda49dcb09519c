// Layer of a set with its own int8 products and KV pages: AVX-VNNI and, in the small library,
// AVX-512. The rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"

namespace ggufx::kernels {

constexpr Layer GGUFX_LAYER::kLayer = {
    .isa = Isa::GGUFX_LAYER,
    .name = GGUFX_TEXT(GGUFX_LAYER),
    .matvec = GGUFX_LAYER::kMatvec.of,
    .gemm = GGUFX_LAYER::kGemm.of,
#ifndef GGUFX_SMALL
    .gemm_precise = GGUFX_LAYER::kGemmPrecise.of,
#endif
    .kv_pages = &GGUFX_LAYER::kKvPages,
};

} // namespace ggufx::kernels
