// Table of blocked products (n >= 4 columns) with integer activations:
//   GGUFX_PRECISE   true for 15-bit activations
//   GGUFX_FAMILY    name of the table
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/gemm.hpp"

namespace ggufx::kernels {

constexpr Family<Gemm> scalar::GGUFX_FAMILY = for_types<Gemm>([]<class F, Kind K>() -> Gemm {
    constexpr bool precise = GGUFX_PRECISE;
    if constexpr (K == Kind::Quantized)
        return {packed_bytes<precise>, pack<precise>, gemm<F, precise>, 1, 1};
    else
        return {};
});

} // namespace ggufx::kernels
