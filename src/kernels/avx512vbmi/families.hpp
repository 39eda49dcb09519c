// The array the AVX-512 VBMI object exports; table.cpp puts it into a layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {

extern const Matvec kAvx512VbmiMatvec[fmt::kTypeIds];

} // namespace kernels
} // namespace ggufx
