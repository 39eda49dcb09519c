// The AVX2 layer: what this set has itself; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/matvec_f32.hpp"

namespace ggufx {
namespace kernels {

extern const KvPages kAvx2KvPages;
extern const Layer kAvx2Layer;
const Layer kAvx2Layer = {Isa::avx2,      "avx2",       kAvx2Dequant, kAvx2Matvec,
                          kAvx2MatvecF32, kAvx2Gemm,    kAvx2GemmF32, sum_groups<avx2::Vec>,
                          &kAvx2Kv,       &kAvx2KvPages};

} // namespace kernels
} // namespace ggufx
