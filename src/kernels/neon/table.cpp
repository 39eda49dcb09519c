// The layers above NEON's; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"

namespace ggufx {
namespace kernels {

#ifdef GGUFX_NEON_I8MM
// Useful where two columns meet two rows: in tiles.
const Layer neon_i8mm::kLayer = {
    .isa = Isa::neon_i8mm,
    .name = "neon_i8mm",
    .gemm = neon_i8mm::kGemm,
    .gemm_precise = neon_i8mm::kGemmPrecise,
};
#else
// Decoding and f32 activations have no dot products of bytes: those of the NEON layer.
const Layer neon_dot::kLayer = {
    .isa = Isa::neon_dot,
    .name = "neon_dot",
    .matvec = neon_dot::kMatvec,
    .matvec_precise = neon_dot::kMatvecPrecise,
    .gemm = neon_dot::kGemm,
    .gemm_precise = neon_dot::kGemmPrecise,
    .kv_pages = &neon_dot::kKvPages,
};
#endif

} // namespace kernels
} // namespace ggufx
