// The AVX-VNNI layer: products of int8 with vpdpbusd; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/loops/families.hpp"

namespace ggufx {
namespace kernels {

const Layer avxvnni::kLayer = {
    .isa = Isa::avxvnni,
    .name = "avxvnni",
    .matvec = avxvnni::kMatvec,
    .gemm = avxvnni::kGemm,
    .gemm_precise = avxvnni::kGemmPrecise,
    .kv_pages = &avxvnni::kKvPages,
};

} // namespace kernels
} // namespace ggufx
