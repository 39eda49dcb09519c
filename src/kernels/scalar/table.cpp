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
const Layer kScalarLayer = {Isa::scalar,      "scalar",       kScalarDequant, kScalarMatvec,
                            kScalarMatvecF32, kScalarGemm,    kScalarGemmF32, scalar::sum_groups,
                            &kScalarKv,       &kScalarKvPages};

} // namespace kernels
} // namespace ggufx
