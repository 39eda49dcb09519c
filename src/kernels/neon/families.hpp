// The arrays the NEON objects export, one each; table.cpp puts them into a layer. All files here
// are compiled for armv8-a, some again with GGUFX_NEON_DOT for the dot product instructions and
// with GGUFX_NEON_I8MM for those that multiply matrices of bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

#ifdef GGUFX_NEON_I8MM
#define GGUFX_NEON_TABLE(family) kNeonI8mm##family
#elif defined(GGUFX_NEON_DOT)
#define GGUFX_NEON_TABLE(family) kNeonDot##family
#else
#define GGUFX_NEON_TABLE(family) kNeon##family
#endif

namespace ggufx {
namespace kernels {

extern const Dequant kNeonDequant[fmt::kTypeIds];
extern const Matvec GGUFX_NEON_TABLE(Matvec)[fmt::kTypeIds];
extern const Matvec GGUFX_NEON_TABLE(MatvecPrecise)[fmt::kTypeIds];
extern const MatvecF32 kNeonMatvecF32[fmt::kTypeIds];
extern const Gemm GGUFX_NEON_TABLE(Gemm)[fmt::kTypeIds];
extern const Gemm GGUFX_NEON_TABLE(GemmPrecise)[fmt::kTypeIds];
extern const Gemm kNeonGemmF32[fmt::kTypeIds];
extern const KvPages GGUFX_NEON_TABLE(KvPages); // not of i8mm

} // namespace kernels
} // namespace ggufx
