// The arrays the AVX-VNNI objects export, one each; table.cpp puts them into a layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {

extern const Matvec kAvxVnniMatvec[fmt::kTypeIds];
extern const Gemm kAvxVnniGemm[fmt::kTypeIds];
extern const Gemm kAvxVnniGemmPrecise[fmt::kTypeIds];
extern const KvPages kAvxVnniKvPages;

} // namespace kernels
} // namespace ggufx
