// n = 1..3 columns of int8 activations. The array of a set, one entry per type; its formats are
// included before, and
//   GGUFX_SET     the set's namespace
//   GGUFX_ARRAY   the name of the array
// SPDX-License-Identifier: MIT
#include "kernels/loops/matvec.hpp"
#include "kernels/loops/pack_act.hpp"

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

template <class F> constexpr Matvec entry() {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        return {pack_act<Vec>, matvec<Unpack<F>>};
    } else {
        return {nullptr, nullptr};
    }
}

} // namespace
} // namespace GGUFX_SET

const Matvec GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ...) GGUFX_SET::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
