// n = 1..3 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec_f32.hpp"
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <class F> constexpr MatvecF32 entry() {
    if constexpr (kIsFloat<F>) {
        return {matvec_floats<Vec, F>, 0};
    } else if constexpr (requires { Unpack<F>::kOffset; }) {
        return {matvec_blocks_f32<Unpack<F>>, F::kMins == fmt::Mins::kNone ? 0 : F::kGroup};
    } else {
        return {nullptr, 0};
    }
}

} // namespace
} // namespace neon

const MatvecF32 kNeonMatvecF32[fmt::kTypeIds] = {
#define X(NAME, ...) neon::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, 0},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
