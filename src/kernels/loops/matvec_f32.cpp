// n = 1..3 columns of f32 activations, one entry per type.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/matvec_f32.hpp"
#include GGUFX_FORMATS

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
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
} // namespace GGUFX_SET

const MatvecF32 GGUFX_LAYER::kMatvecF32[fmt::kTypeIds] = {
#define X(NAME, ...) GGUFX_SET::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, 0},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
