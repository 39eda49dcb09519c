// The scalar layer: every family and every type; the lowest layer of each stack.
// SPDX-License-Identifier: MIT
#include "kernels/scalar/canonical.hpp"
#include "kernels/loops/families.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

void sum_groups(float *sums, const float *x, size_t k, size_t group) {
    for (size_t g = 0; g < k / group; g++) sums[g] = x_sum(x + g * group, group);
}

} // namespace
} // namespace scalar

const Layer scalar::kLayer = {
    .isa = Isa::scalar,
    .name = "scalar",
    .dequant = scalar::kDequant,
    .matvec = scalar::kMatvec,
    .matvec_precise = scalar::kMatvecPrecise,
    .matvec_f32 = scalar::kMatvecF32,
    .gemm = scalar::kGemm,
    .gemm_precise = scalar::kGemmPrecise,
    .gemm_f32 = scalar::kGemmF32,
    .sum = scalar::sum_groups,
    .kv_pages = &scalar::kKvPages,
};

} // namespace kernels
} // namespace ggufx
