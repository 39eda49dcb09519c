// The layers above NEON; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"

namespace ggufx::kernels {

// smmla helps only in tiles, where two columns meet two rows. Dequantization and f32 activations
// have no dot products of bytes and use the NEON layer.
constexpr Layer GGUFX_LAYER::kLayer = {
    .isa = Isa::GGUFX_LAYER,
    .name = GGUFX_TEXT(GGUFX_LAYER),
#ifndef GGUFX_NEON_I8MM
    .matvec = GGUFX_LAYER::kMatvec.of,
    .matvec_precise = GGUFX_LAYER::kMatvecPrecise.of,
#endif
    .gemm = GGUFX_LAYER::kGemm.of,
    .gemm_precise = GGUFX_LAYER::kGemmPrecise.of,
#ifndef GGUFX_NEON_I8MM
    .kv_pages = &GGUFX_LAYER::kKvPages,
#endif
};

} // namespace ggufx::kernels
