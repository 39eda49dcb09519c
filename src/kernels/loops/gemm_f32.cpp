// n >= 4 columns of f32 activations, one entry per type.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/gemm_f32.hpp"
#include GGUFX_FORMATS

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

template <class F> constexpr Gemm entry() {
    constexpr uint32_t tile_rows = 2 * Vec::kLanes;
    if constexpr (kIsFloat<F>) {
        return {gemm_f32_bytes, gemm_f32_pack, gemm_floats<Vec, F>, 1, tile_rows};
    } else if constexpr (requires { Unpack<F>::kOffset; }) {
        return {gemm_f32_bytes, gemm_f32_pack, gemm_blocks_f32<Unpack<F>>, 1, tile_rows};
    } else {
        return {};
    }
}

} // namespace
} // namespace GGUFX_SET

const Gemm GGUFX_LAYER::kGemmF32[fmt::kTypeIds] = {
#define X(NAME, ...) GGUFX_SET::entry<fmt::NAME>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
