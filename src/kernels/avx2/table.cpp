// The AVX2 layer: what this set has itself; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/matvec_f32.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvx2Layer;
const Layer kAvx2Layer = {
    .isa = Isa::avx2,
    .name = "avx2",
    .dequant = kAvx2Dequant,
    .matvec = kAvx2Matvec,
    .matvec_precise = kAvx2MatvecPrecise,
    .matvec_f32 = kAvx2MatvecF32,
    .gemm = kAvx2Gemm,
    .gemm_precise = kAvx2GemmPrecise,
    .gemm_f32 = kAvx2GemmF32,
    .sum = sum_groups<avx2::Vec>,
    .kv_pages = &kAvx2KvPages,
};

} // namespace kernels
} // namespace ggufx
