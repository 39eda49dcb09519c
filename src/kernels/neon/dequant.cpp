// Blocks to f32.
// SPDX-License-Identifier: MIT
#include "kernels/loops/dequant.hpp"
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
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
} // namespace neon

const Dequant kNeonDequant[fmt::kTypeIds] = {
#define X(NAME, ...) neon::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
