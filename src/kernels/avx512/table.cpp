// The AVX-512 layer: what this set has itself; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/matvec_f32.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvx512Layer;
const Layer kAvx512Layer = {
    Isa::avx512, "avx512",       kAvx512Dequant,          kAvx512Matvec, kAvx512MatvecF32,
    kAvx512Gemm, kAvx512GemmF32, sum_groups<avx512::Vec>, nullptr,       &kAvx512KvPages};

} // namespace kernels
} // namespace ggufx
