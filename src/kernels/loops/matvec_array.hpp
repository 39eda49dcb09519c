// Table of row-wise products (n = 1..3 columns) with integer activations:
//   GGUFX_PLANES  planes of the activations: 1 (8 bits) or 2 (15 bits)
//   GGUFX_FAMILY  name of the table
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/matvec.hpp"
#include "kernels/loops/pack_act.hpp"
#include GGUFX_FORMATS

namespace ggufx::kernels {

using namespace GGUFX_SET;

constexpr Family<Matvec> GGUFX_LAYER::GGUFX_FAMILY =
    for_types<Matvec>([]<class F, Kind>() -> Matvec {
        if constexpr (GGUFX_PLANES == 1 && requires { UnpackLanes<F>::kOffset; }) {
            using U = Planes<UnpackLanes<F>, 1>;
            return {pack_lanes<Planes<typename U::Set, 1>>, matvec<U>};
        } else if constexpr (requires { requires GGUFX_PLANES > UnpackPlanes<F>::kMostPlanes; }) {
            return {};
        } else if constexpr (requires { UnpackPlanes<F>::kOffset; }) {
            using U = Planes<UnpackPlanes<F>, GGUFX_PLANES>;
            return {pack_planes<U>, matvec<U>};
        } else if constexpr (
            requires { Unpack<F>::kOffset; } && !requires { sizeof(UnpackPlanes<F>); }) {
            return {pack_act<Planes<Vec, GGUFX_PLANES>>, matvec<Planes<Unpack<F>, GGUFX_PLANES>>};
        } else {
            return {};
        }
    });

} // namespace ggufx::kernels
