// The AVX-VNNI layer: products of int8 with vpdpbusd; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avxvnni/families.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvxVnniLayer;
const Layer kAvxVnniLayer = {
    .isa = Isa::avxvnni,
    .name = "avxvnni",
    .matvec = kAvxVnniMatvec,
    .gemm = kAvxVnniGemm,
    .gemm_precise = kAvxVnniGemmPrecise,
    .kv_pages = &kAvxVnniKvPages,
};

} // namespace kernels
} // namespace ggufx
