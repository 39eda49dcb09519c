// n = 1..3 columns of integer activations, one entry per type:
//   GGUFX_PRECISE   15-bit activations?
//   GGUFX_ARRAY     the name of the array
// SPDX-License-Identifier: MIT
#include "kernels/scalar/families.hpp"
#include "kernels/scalar/matvec.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

template <class F, bool Weights> constexpr Matvec entry() {
    if constexpr (Weights)
        return {pack_column<GGUFX_PRECISE>, matvec<F, GGUFX_PRECISE>};
    else
        return {nullptr, nullptr};
}
constexpr bool Quantized = true, Float = false, Integer = false, Activation = false;

} // namespace
} // namespace scalar

const Matvec GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) scalar::entry<fmt::NAME, scalar::KIND>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
