// n = 1..3 columns of int8 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec.hpp"
#include "kernels/avx2/families.hpp"
#include "kernels/avx2/formats.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <class F> constexpr Matvec entry() {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        return {pack_act<Vec>, matvec<Unpack<F>>};
    } else {
        return {nullptr, nullptr};
    }
}

} // namespace
} // namespace avx2

const Matvec kAvx2Matvec[fmt::kTypeIds] = {
#define X(NAME, ...) avx2::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
