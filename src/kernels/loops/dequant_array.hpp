// Blocks to f32. The array of a set, one entry per type; its formats are included before, and
//   GGUFX_SET     the set's namespace
//   GGUFX_ARRAY   the name of the array
// SPDX-License-Identifier: MIT
#include "kernels/loops/dequant.hpp"

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

const Dequant GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ...) GGUFX_SET::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
