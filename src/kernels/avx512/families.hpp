// The arrays the AVX-512 objects export, one each; table.cpp puts them into a layer.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {

extern const Dequant kAvx512Dequant[fmt::kTypeIds];
extern const Matvec kAvx512Matvec[fmt::kTypeIds];
extern const Matvec kAvx512MatvecPrecise[fmt::kTypeIds];
extern const MatvecF32 kAvx512MatvecF32[fmt::kTypeIds];
extern const Gemm kAvx512Gemm[fmt::kTypeIds];
extern const Gemm kAvx512GemmPrecise[fmt::kTypeIds];
extern const Gemm kAvx512GemmF32[fmt::kTypeIds];
// Where the processor has VBMI.
extern const Matvec kAvx512VbmiMatvec[fmt::kTypeIds];
extern const Matvec kAvx512VbmiMatvecPrecise[fmt::kTypeIds];
extern const KvPages kAvx512VbmiKvPages;
extern const KvPages kAvx512KvPages;

} // namespace kernels
} // namespace ggufx
