// The AVX-512 layer: what this set has itself; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvx512Layer;
const Layer kAvx512Layer = {Isa::avx512, "avx512", nullptr, kAvx512Matvec,
                            nullptr,     nullptr,  nullptr, nullptr};

} // namespace kernels
} // namespace ggufx
