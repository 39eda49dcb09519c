// n >= 4 columns with 8-bit activations.
// SPDX-License-Identifier: MIT
#include "kernels/scalar/gemm.hpp"
#include "kernels/scalar/families.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

template <class F> constexpr Gemm entry_Quantized() {
    return {packed_bytes<false>, pack<false>, gemm<F, false>, 1, 1};
}
template <class F> constexpr Gemm entry_Float() {
    return {};
}
template <class F> constexpr Gemm entry_Integer() {
    return {};
}
template <class F> constexpr Gemm entry_Activation() {
    return {};
}

} // namespace
} // namespace scalar

const Gemm kScalarGemm[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) scalar::entry_##KIND<fmt::NAME>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
