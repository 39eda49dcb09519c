// The scalar layer: every family and every type; the lowest layer of each stack.
// SPDX-License-Identifier: MIT
#include "kernels/scalar/canonical.hpp"
#include "kernels/scalar/families.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

void sum_groups(float *sums, const float *x, size_t k, size_t group) {
    for (size_t g = 0; g < k / group; g++) sums[g] = x_sum(x + g * group, group);
}

} // namespace
} // namespace scalar

extern const Layer kScalarLayer;
const Layer kScalarLayer = {
    .isa = Isa::scalar,
    .name = "scalar",
    .dequant = kScalarDequant,
    .matvec = kScalarMatvec,
    .matvec_precise = kScalarMatvecPrecise,
    .matvec_f32 = kScalarMatvecF32,
    .gemm = kScalarGemm,
    .gemm_precise = kScalarGemmPrecise,
    .gemm_f32 = kScalarGemmF32,
    .sum = scalar::sum_groups,
    .kv_pages = &kScalarKvPages,
};

} // namespace kernels
} // namespace ggufx
