// Blocks to f32, one entry per type.
// SPDX-License-Identifier: MIT
#include "kernels/loops/dequant.hpp"
#include "kernels/loops/families.hpp"
#include GGUFX_FORMATS

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

template <class F> constexpr Dequant entry() {
    if constexpr (kIsFloat<F>) {
        return {dequant_floats<Vec, F>};
    } else if constexpr (requires { Unpack<F>::kOffset; }) {
        return {dequant_blocks<Unpack<F>>};
    } else {
        return {nullptr};
    }
}

} // namespace
} // namespace GGUFX_SET

const Dequant GGUFX_LAYER::kDequant[fmt::kTypeIds] = {
#define X(NAME, ...) GGUFX_SET::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
