// n = 1..3 columns of integer activations, one entry per type:
//   GGUFX_PLANES  of the activations: 1 (8 bits) or 2 (15 bits)
//   GGUFX_ARRAY   the name of the array
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/loops/matvec.hpp"
#include "kernels/loops/pack_act.hpp"
#include GGUFX_FORMATS

namespace ggufx {
namespace kernels {
namespace GGUFX_SET {
namespace {

template <class F> constexpr Matvec entry() {
    if constexpr (requires { UnpackPlanes<F>::kOffset; }) {
        using U = Planes<UnpackPlanes<F>, GGUFX_PLANES>;
        return {pack_planes<U>, matvec<U>};
    } else if constexpr (requires { Unpack<F>::kOffset; }) {
        return {pack_act<Planes<Vec, GGUFX_PLANES>>, matvec<Planes<Unpack<F>, GGUFX_PLANES>>};
    } else {
        return {nullptr, nullptr};
    }
}

} // namespace
} // namespace GGUFX_SET

const Matvec GGUFX_LAYER::GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ...) GGUFX_SET::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
