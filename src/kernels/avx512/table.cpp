// The AVX-512 layer: what this set has itself; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/matvec_f32.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvx512Layer;
const Layer kAvx512Layer = {
    .isa = Isa::avx512,
    .name = "avx512",
#ifdef GGUFX_SMALL // the rest is AVX2's
    .matvec = kAvx512Matvec,
    .gemm = kAvx512Gemm,
#else
    .dequant = kAvx512Dequant,
    .matvec = kAvx512Matvec,
    .matvec_precise = kAvx512MatvecPrecise,
    .matvec_f32 = kAvx512MatvecF32,
    .gemm = kAvx512Gemm,
    .gemm_precise = kAvx512GemmPrecise,
    .gemm_f32 = kAvx512GemmF32,
    .sum = sum_groups<avx512::Vec>,
#endif
    .kv_pages = &kAvx512KvPages,
};

} // namespace kernels
} // namespace ggufx
