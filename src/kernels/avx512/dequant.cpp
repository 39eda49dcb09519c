// Blocks to f32.
// SPDX-License-Identifier: MIT
#include "kernels/loops/dequant.hpp"
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/formats.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
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
} // namespace avx512

const Dequant kAvx512Dequant[fmt::kTypeIds] = {
#define X(NAME, ...) avx512::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
