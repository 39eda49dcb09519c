// n >= 4 columns of integer activations, one entry per type:
//   GGUFX_PRECISE   15-bit activations?
//   GGUFX_ARRAY     the name of the array
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"
#include "kernels/scalar/gemm.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

template <class F, Kind K> constexpr Gemm entry() {
    constexpr bool precise = GGUFX_PRECISE;
    if constexpr (K == Kind::Quantized)
        return {packed_bytes<precise>, pack<precise>, gemm<F, precise>, 1, 1};
    else
        return {};
}

} // namespace
} // namespace scalar

const Gemm scalar::GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ID, TEXT, VALUES, BYTES, KIND, ...) scalar::entry<fmt::NAME, scalar::Kind::KIND>(),
#define REMOVED(...) {},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
