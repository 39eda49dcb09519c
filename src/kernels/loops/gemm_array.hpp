// n >= 4 columns of int8 activations. The array of a set, one entry per type; its formats are
// included before, and
//   GGUFX_SET     the set's namespace
//   GGUFX_ARRAY   the name of the array
// SPDX-License-Identifier: MIT
#include "kernels/loops/gemm.hpp"

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

template <class F> constexpr Gemm entry() {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        using U = typename TileUnpack<Unpack<F>>::Type;
        return {gemm_bytes<Vec>, gemm_pack<U>, gemm<U>, U::kColumns, U::kTileVectors * U::kLanes};
    } else {
        return {};
    }
}

} // namespace
} // namespace GGUFX_SET

const Gemm GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ...) GGUFX_SET::entry<fmt::NAME>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
