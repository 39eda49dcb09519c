// The arrays the NEON objects export, one each; table.cpp puts them into a layer. All files here
// are compiled twice: for armv8-a and, with GGUFX_NEON_DOT, for the dot product instructions.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

#ifdef GGUFX_NEON_DOT
#define GGUFX_NEON_TABLE(family) kNeonDot##family
#else
#define GGUFX_NEON_TABLE(family) kNeon##family
#endif

namespace ggufx {
namespace kernels {

extern const Dequant kNeonDequant[fmt::kTypeIds];
extern const Matvec GGUFX_NEON_TABLE(Matvec)[fmt::kTypeIds];
extern const MatvecF32 kNeonMatvecF32[fmt::kTypeIds];
extern const Gemm GGUFX_NEON_TABLE(Gemm)[fmt::kTypeIds];
extern const Gemm kNeonGemmF32[fmt::kTypeIds];

} // namespace kernels
} // namespace ggufx
