// The NEON layers: what these sets have themselves; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec_f32.hpp"
#include "kernels/neon/families.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {

extern const KvPages GGUFX_NEON_TABLE(KvPages); // not of i8mm

#ifdef GGUFX_NEON_I8MM
// Useful where two columns meet two rows: in tiles.
extern const Layer kNeonI8mmLayer;
const Layer kNeonI8mmLayer = {
    .isa = Isa::neon_i8mm,
    .name = "neon_i8mm",
    .gemm = kNeonI8mmGemm,
    .gemm_precise = kNeonI8mmGemmPrecise,
};
#elif defined(GGUFX_NEON_DOT)
// Decoding and f32 activations have no dot products of bytes: those of the NEON layer.
extern const Layer kNeonDotLayer;
const Layer kNeonDotLayer = {
    .isa = Isa::neon_dot,
    .name = "neon_dot",
    .matvec = kNeonDotMatvec,
    .matvec_precise = kNeonDotMatvecPrecise,
    .gemm = kNeonDotGemm,
    .gemm_precise = kNeonDotGemmPrecise,
    .kv_pages = &kNeonDotKvPages,
};
#else
extern const Layer kNeonLayer;
const Layer kNeonLayer = {
    .isa = Isa::neon,
    .name = "neon",
    .dequant = kNeonDequant,
    .matvec = kNeonMatvec,
    .matvec_precise = kNeonMatvecPrecise,
    .matvec_f32 = kNeonMatvecF32,
    .gemm = kNeonGemm,
    .gemm_precise = kNeonGemmPrecise,
    .gemm_f32 = kNeonGemmF32,
    .sum = sum_groups<neon::Vec>,
    .kv_pages = &kNeonKvPages,
};
#endif

} // namespace kernels
} // namespace ggufx
