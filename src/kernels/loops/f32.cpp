// Tables of dequantization and of products with f32 activations, which load steps with the same
// code.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/gemm_f32.hpp"
#include "kernels/loops/matvec_f32.hpp"
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

constexpr Family<MatvecF32> GGUFX_LAYER::kMatvecF32 =
    for_types<MatvecF32>([]<class F, Kind K>() -> MatvecF32 {
        if constexpr (kIsFloat<F, K>)
            return {matvec_floats<Vec, F>, 0, nullptr};
        else if constexpr (requires { Unpack<F>::kOffset; })
            return {matvec_blocks_f32<Unpack<F>>, kSumsOf<F>, sum_groups<Vec>};
        else
            return {};
    });

constexpr Family<Gemm> GGUFX_LAYER::kGemmF32 = for_types<Gemm>([]<class F, Kind K>() -> Gemm {
    constexpr uint32_t tile_rows = kVectorsF32 * Vec::kLanes;
    if constexpr (kIsFloat<F, K>)
        return {gemm_f32_bytes, gemm_f32_pack, gemm_floats<Vec, F>, 1, tile_rows};
    else if constexpr (requires { Unpack<F>::kOffset; })
        return {gemm_f32_bytes, gemm_f32_pack, gemm_blocks_f32<Unpack<F>>, 1, tile_rows};
    else
        return {};
});

} // namespace ggufx::kernels
