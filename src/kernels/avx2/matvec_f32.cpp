// n = 1..3 columns of f32 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec_f32.hpp"
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
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
} // namespace avx2

const MatvecF32 kAvx2MatvecF32[fmt::kTypeIds] = {
#define X(NAME, ...) avx2::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, 0},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
