// n = 1..3 columns of int8 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec.hpp"
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/formats.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <class F> constexpr Matvec entry() {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        return {pack_act<Vec>, matvec<Unpack<F>>};
    } else {
        return {nullptr, nullptr};
    }
}

} // namespace
} // namespace avx512

const Matvec kAvx512Matvec[fmt::kTypeIds] = {
#define X(NAME, ...) avx512::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
