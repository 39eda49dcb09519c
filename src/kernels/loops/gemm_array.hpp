// n >= 4 columns of integer activations, one entry per type:
//   GGUFX_PLANES  of the activations: 1 (8 bits) or 2 (15 bits)
//   GGUFX_ARRAY   the name of the array
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/gemm.hpp"
#include GGUFX_FORMATS

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

template <class F> constexpr Gemm entry() {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        using U = Planes<typename TileUnpack<Unpack<F>>::Type, GGUFX_PLANES>;
        return {gemm_bytes<U>, gemm_pack<U>, gemm<U>, U::kColumns, U::kTileVectors * U::kLanes};
    } else {
        return {};
    }
}

} // namespace
} // namespace GGUFX_SET

const Gemm GGUFX_LAYER::GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ...) GGUFX_SET::entry<fmt::NAME>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
