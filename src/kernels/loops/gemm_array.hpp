// n >= 4 columns of integer activations:
//   GGUFX_PLANES  of the activations: 1 (8 bits) or 2 (15 bits)
//   GGUFX_FAMILY  the name of the table
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/gemm.hpp"
#include GGUFX_FORMATS

namespace ggufx::kernels {

using namespace GGUFX_SET;

constexpr Family<Gemm> GGUFX_LAYER::GGUFX_FAMILY = for_types<Gemm>([]<class F, Kind>() -> Gemm {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        using U = Planes<typename TileUnpack<Unpack<F>>::Type, GGUFX_PLANES>;
        return {gemm_bytes<KindOf<U>>, gemm_pack<U>, gemm<U>, U::kColumns,
                U::kTileVectors * U::kLanes};
    } else {
        return {};
    }
});

} // namespace ggufx::kernels
