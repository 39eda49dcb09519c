// What AVX-512 has besides where the processor has VBMI; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvx512VbmiLayer;
const Layer kAvx512VbmiLayer = {Isa::avx512, "avx512vbmi", nullptr, kAvx512VbmiMatvec, nullptr,
                                nullptr,     nullptr,      nullptr, nullptr,           nullptr};

} // namespace kernels
} // namespace ggufx
