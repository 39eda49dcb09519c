// The NEON layer: what this set has itself; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/neon/families.hpp"

namespace ggufx {
namespace kernels {

#ifdef GGUFX_NEON_DOT
extern const Layer kNeonDotLayer;
const Layer kNeonDotLayer = {Isa::neon_dot, "neon_dot", nullptr, kNeonDotMatvec,
                             nullptr,       nullptr,    nullptr, nullptr};
#else
extern const Layer kNeonLayer;
const Layer kNeonLayer = {Isa::neon, "neon",  nullptr, kNeonMatvec,
                          nullptr,   nullptr, nullptr, nullptr};
#endif

} // namespace kernels
} // namespace ggufx
