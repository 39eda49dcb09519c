// n >= 4 columns of int8 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/gemm.hpp"
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
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
} // namespace neon

const Gemm GGUFX_NEON_TABLE(Gemm)[fmt::kTypeIds] = {
#define X(NAME, ...) neon::entry<fmt::NAME>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
