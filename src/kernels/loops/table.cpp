// Layer of a set with all families; missing types come from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"

namespace ggufx::kernels {

constexpr Layer GGUFX_LAYER::kLayer = {
    .isa = Isa::GGUFX_LAYER,
    .name = GGUFX_TEXT(GGUFX_LAYER),
    .dequant = GGUFX_LAYER::kDequant.of,
    .matvec = GGUFX_LAYER::kMatvec.of,
    .matvec_precise = GGUFX_LAYER::kMatvecPrecise.of,
    .matvec_f32 = GGUFX_LAYER::kMatvecF32.of,
    .gemm = GGUFX_LAYER::kGemm.of,
    .gemm_precise = GGUFX_LAYER::kGemmPrecise.of,
    .gemm_f32 = GGUFX_LAYER::kGemmF32.of,
    .encode = GGUFX_LAYER::kEncoders.of,
    .kv_pages = &GGUFX_LAYER::kKvPages,
    .rows = &GGUFX_LAYER::kRows,
};

} // namespace ggufx::kernels
