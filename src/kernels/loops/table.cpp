// The layer of a set that has all families itself; types it has not come from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/matvec_f32.hpp"
#include GGUFX_FORMATS

namespace ggufx {
namespace kernels {

const Layer GGUFX_LAYER::kLayer = {
    .isa = Isa::GGUFX_LAYER,
    .name = GGUFX_TEXT(GGUFX_LAYER),
    .dequant = GGUFX_LAYER::kDequant,
    .matvec = GGUFX_LAYER::kMatvec,
    .matvec_precise = GGUFX_LAYER::kMatvecPrecise,
    .matvec_f32 = GGUFX_LAYER::kMatvecF32,
    .gemm = GGUFX_LAYER::kGemm,
    .gemm_precise = GGUFX_LAYER::kGemmPrecise,
    .gemm_f32 = GGUFX_LAYER::kGemmF32,
    .sum = sum_groups<GGUFX_SET::Vec>,
    .kv_pages = &GGUFX_LAYER::kKvPages,
};

} // namespace kernels
} // namespace ggufx
