// Table of row-wise products (n = 1..3 columns) with integer activations:
//   GGUFX_PRECISE   true for 15-bit activations
//   GGUFX_FAMILY    name of the table
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/matvec.hpp"

namespace ggufx::kernels {

constexpr Family<Matvec> scalar::GGUFX_FAMILY = for_types<Matvec>([]<class F, Kind K>() -> Matvec {
    if constexpr (K == Kind::Quantized)
        return {pack_column<GGUFX_PRECISE>, matvec<F, GGUFX_PRECISE>};
    else
        return {};
});

} // namespace ggufx::kernels
