// n >= 4 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/gemm_f32.hpp"
#include "kernels/loops/families.hpp"
#include GGUFX_FORMATS

namespace ggufx::kernels {

using namespace GGUFX_SET;

constexpr Family<Gemm> GGUFX_LAYER::kGemmF32 = for_types<Gemm>([]<class F, Kind K>() -> Gemm {
    constexpr uint32_t tile_rows = 2 * Vec::kLanes;
    if constexpr (kIsFloat<F, K>)
        return {gemm_f32_bytes, gemm_f32_pack, gemm_floats<Vec, F>, 1, tile_rows};
    else if constexpr (requires { Unpack<F>::kOffset; })
        return {gemm_f32_bytes, gemm_f32_pack, gemm_blocks_f32<Unpack<F>>, 1, tile_rows};
    else
        return {};
});

} // namespace ggufx::kernels
