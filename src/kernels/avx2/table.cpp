// The AVX2 layer: what this set has itself; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avx2/families.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvx2Layer;
const Layer kAvx2Layer = {Isa::avx2, "avx2",  nullptr, kAvx2Matvec,
                          nullptr,   nullptr, nullptr, nullptr};

} // namespace kernels
} // namespace ggufx
