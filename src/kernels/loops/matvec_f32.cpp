// n = 1..3 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec_f32.hpp"
#include "kernels/loops/families.hpp"
#include GGUFX_FORMATS

namespace ggufx::kernels {

using namespace GGUFX_SET;

constexpr Family<MatvecF32> GGUFX_LAYER::kMatvecF32 =
    for_types<MatvecF32>([]<class F, Kind K>() -> MatvecF32 {
        if constexpr (kIsFloat<F, K>)
            return {matvec_floats<Vec, F>, 0, nullptr};
        else if constexpr (requires { Unpack<F>::kOffset; })
            return {matvec_blocks_f32<Unpack<F>>, kSumsOf<F>, sum_groups<Vec>};
        else
            return {};
    });

} // namespace ggufx::kernels
