// Blocks to f32.
// SPDX-License-Identifier: MIT
#include "kernels/loops/dequant.hpp"
#include "kernels/loops/families.hpp"
#include GGUFX_FORMATS

namespace ggufx::kernels {

using namespace GGUFX_SET;

constexpr Family<Dequant> GGUFX_LAYER::kDequant =
    for_types<Dequant>([]<class F, Kind K>() -> Dequant {
        if constexpr (kIsFloat<F, K>)
            return {dequant_floats<Vec, F>};
        else if constexpr (requires { Unpack<F>::kOffset; })
            return {dequant_blocks<Unpack<F>>};
        else
            return {};
    });

} // namespace ggufx::kernels
