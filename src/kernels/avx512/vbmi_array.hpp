// n = 1..3 columns of integer activations: the IQ types with codebooks, with GGUFX_PLANES and
// GGUFX_ARRAY as loops/matvec_array.hpp.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/vbmi_rows4.hpp"
#include "kernels/avx512/vbmi_rows8.hpp"
#include "kernels/loops/families.hpp"
#include "kernels/loops/matvec.hpp"

namespace ggufx {
namespace kernels {
namespace avx512vbmi {
namespace {

template <class F> constexpr Matvec entry() {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        return {pack_planes<Planes<Vec, GGUFX_PLANES>>, matvec<Planes<Unpack<F>, GGUFX_PLANES>>};
    } else {
        return {nullptr, nullptr};
    }
}

} // namespace
} // namespace avx512vbmi

const Matvec GGUFX_LAYER::GGUFX_ARRAY[fmt::kTypeIds] = {
#define X(NAME, ...) avx512vbmi::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
