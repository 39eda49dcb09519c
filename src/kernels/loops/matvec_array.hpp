// n = 1..3 columns of integer activations. The array of a set, one entry per type; its formats are
// included before, and
//   GGUFX_PLANES  of the activations: 1 (8 bits) or 2 (15 bits)
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
    if constexpr (requires { typename Unpack<F>::InPlanes; }) {
        using U = Planes<typename Unpack<F>::InPlanes, GGUFX_PLANES>;
        return {pack_planes<U>, matvec<U>};
    } else if constexpr (requires { Unpack<F>::kOffset; }) {
        return {pack_act<Planes<Vec, GGUFX_PLANES>>, matvec<Planes<Unpack<F>, GGUFX_PLANES>>};
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
