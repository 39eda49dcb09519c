// Tables of blocked products (n >= 4 columns) with int8 and 15-bit activations, which fill tiles
// with the same code.
// SPDX-License-Identifier: MIT
#include "kernels/loops/gemm.hpp"
#include "kernels/loops/families.hpp"
#include GGUFX_FORMATS

namespace ggufx::kernels {

using namespace GGUFX_SET;

namespace {

template <unsigned N> consteval Family<Gemm> gemm_of_planes() {
    return for_types<Gemm>([]<class F, Kind>() -> Gemm {
        if constexpr (requires { Unpack<F>::kOffset; }) {
            using U = typename TileUnpack<Unpack<F>>::Type;
            using P = Planes<U, N>;
            using K = KindOf<P>;
            return {
                gemm_bytes<K>, gemm_pack<P>, gemm<U, N>, U::kColumns, U::kTileVectors * U::kLanes,
                gemm_tiles<K>};
        } else {
            return {};
        }
    });
}

} // namespace

constexpr Family<Gemm> GGUFX_LAYER::kGemm = gemm_of_planes<1>();
#ifndef GGUFX_ONE_PLANE
constexpr Family<Gemm> GGUFX_LAYER::kGemmPrecise = gemm_of_planes<2>();
#endif

} // namespace ggufx::kernels
