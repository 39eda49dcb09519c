// The arrays the scalar objects export, one each; table.cpp puts them into a layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {

extern const Dequant kScalarDequant[fmt::kTypeIds];
extern const Matvec kScalarMatvec[fmt::kTypeIds];
extern const Matvec kScalarMatvecPrecise[fmt::kTypeIds];
extern const MatvecF32 kScalarMatvecF32[fmt::kTypeIds];
extern const Gemm kScalarGemm[fmt::kTypeIds];
extern const Gemm kScalarGemmPrecise[fmt::kTypeIds];
extern const Gemm kScalarGemmF32[fmt::kTypeIds];
extern const KvPages kScalarKvPages;

} // namespace kernels
} // namespace ggufx
