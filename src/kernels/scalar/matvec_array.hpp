// n = 1..3 columns of integer activations, one entry per type:
//   GGUFX_PRECISE   15-bit activations?
//   GGUFX_ARRAY     the name of the array
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/matvec.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

template <class F, Kind K> constexpr Matvec entry() {
    if constexpr (K == Kind::Quantized)
        return {pack_column<GGUFX_PRECISE>, matvec<F, GGUFX_PRECISE>};
    else
        return {nullptr, nullptr};
}

} // namespace
} // namespace scalar

const Matvec scalar::GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) scalar::entry<fmt::NAME, scalar::Kind::KIND>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
