// The arrays that objects export, one each, in the namespace of their layer; table.cpp puts them
// together. Files of loops/ are compiled once per layer; meson.build gives
//   GGUFX_SET     the namespace and folder of the set: its formats.hpp
//   GGUFX_LAYER   the namespace of the arrays; another one where a set is compiled several times
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/table.hpp"

#define GGUFX_TEXT_OF(x) #x
#define GGUFX_TEXT(x) GGUFX_TEXT_OF(x)
// clang-format off: no spaces in a path
#define GGUFX_FORMATS GGUFX_TEXT(kernels/GGUFX_SET/formats.hpp)
// clang-format on

namespace ggufx {
namespace kernels {
namespace GGUFX_LAYER {

extern const Dequant kDequant[fmt::kTypeIds];
extern const Matvec kMatvec[fmt::kTypeIds];
extern const Matvec kMatvecPrecise[fmt::kTypeIds];
extern const MatvecF32 kMatvecF32[fmt::kTypeIds];
extern const Gemm kGemm[fmt::kTypeIds];
extern const Gemm kGemmPrecise[fmt::kTypeIds];
extern const Gemm kGemmF32[fmt::kTypeIds];
extern const KvPages kKvPages;
extern const Layer kLayer;

} // namespace GGUFX_LAYER
} // namespace kernels
} // namespace ggufx
