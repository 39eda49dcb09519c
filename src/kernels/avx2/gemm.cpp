// n >= 4 columns of int8 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/gemm.hpp"
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"
#include "kernels/avx2/tile_products.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
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
} // namespace avx2

const Gemm kAvx2Gemm[fmt::kTypeIds] = {
#define X(NAME, ...) avx2::entry<fmt::NAME>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
