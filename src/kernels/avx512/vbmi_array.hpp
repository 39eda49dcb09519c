// Table of row-wise products with integer activations for the IQ types with codebooks. GGUFX_PLANES
// and GGUFX_FAMILY as in loops/matvec_array.hpp.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/vbmi_rows4.hpp"
#include "kernels/avx512/vbmi_rows8.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/matvec.hpp"

namespace ggufx::kernels {

using namespace avx512vbmi;

constexpr Family<Matvec> GGUFX_LAYER::GGUFX_FAMILY = for_types<Matvec>([]<class F, Kind>()
                                                                           -> Matvec {
    if constexpr (requires { Unpack<F>::kOffset; })
        return {pack_planes<Planes<Vec, GGUFX_PLANES>>, matvec<Planes<Unpack<F>, GGUFX_PLANES>>};
    else
        return {};
});

} // namespace ggufx::kernels
