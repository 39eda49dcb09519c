// n = 1..3 columns of int8 activations: the IQ types with codebooks.
// SPDX-License-Identifier: MIT
#include "formats/all.hpp"
#include "kernels/avx512/families.hpp"
#include "kernels/avx512/vbmi_rows4.hpp"
#include "kernels/avx512/vbmi_rows8.hpp"
#include "kernels/loops/matvec.hpp"

namespace ggufx {
namespace kernels {
namespace avx512vbmi {
namespace {

template <class F> constexpr Matvec entry() {
    if constexpr (requires { Unpack<F>::kOffset; }) {
        return {pack_planes, matvec<Unpack<F>>};
    } else {
        return {nullptr, nullptr};
    }
}

} // namespace
} // namespace avx512vbmi

const Matvec kAvx512VbmiMatvec[fmt::kTypeIds] = {
#define X(NAME, ...) avx512vbmi::entry<fmt::NAME>(),
#define REMOVED(...) {nullptr, nullptr},
#include "formats/formats.def"
};

} // namespace kernels
} // namespace ggufx
