// The arrays the AVX2 objects export, one each; table.cpp puts them into a layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {

extern const Dequant kAvx2Dequant[fmt::kTypeIds];
extern const Matvec kAvx2Matvec[fmt::kTypeIds];
extern const Matvec kAvx2MatvecPrecise[fmt::kTypeIds];
extern const MatvecF32 kAvx2MatvecF32[fmt::kTypeIds];
extern const Gemm kAvx2Gemm[fmt::kTypeIds];
extern const Gemm kAvx2GemmPrecise[fmt::kTypeIds];
extern const Gemm kAvx2GemmF32[fmt::kTypeIds];
extern const KvPages kAvx2KvPages;

} // namespace kernels
} // namespace ggufx
