// n = 1..3 columns with 8-bit activations.
// SPDX-License-Identifier: MIT
#include "kernels/scalar/matvec.hpp"
#include "kernels/scalar/families.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

template <class F> constexpr Matvec entry_Quantized() {
    return {pack_column<false>, matvec<F, false>};
}
template <class F> constexpr Matvec entry_Float() {
    return {nullptr, nullptr};
}
template <class F> constexpr Matvec entry_Integer() {
    return {nullptr, nullptr};
}
template <class F> constexpr Matvec entry_Activation() {
    return {nullptr, nullptr};
}

} // namespace
} // namespace scalar

const Matvec kScalarMatvec[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) scalar::entry_##KIND<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
