// n = 1..3 columns of int8 activations.
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec.hpp"
#include "kernels/loops/pack_act.hpp"
#include "kernels/neon/families.hpp"
#include "kernels/neon/formats.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <class F> constexpr Matvec entry() {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        return {pack_act<Vec>, matvec<Unpack<F>>};
    } else {
        return {nullptr, nullptr};
    }
}

} // namespace
} // namespace neon

const Matvec GGUFX_NEON_TABLE(Matvec)[fmt::kTypeIds] = {
#define X(NAME, ...) neon::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
