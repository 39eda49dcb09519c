// What AVX-512 has besides where the processor has VBMI; the rest comes from the layers below.
// SPDX-License-Identifier: MIT
#include "kernels/avx512/families.hpp"

namespace ggufx {
namespace kernels {

extern const Layer kAvx512VbmiLayer;
const Layer kAvx512VbmiLayer = {
    .isa = Isa::avx512,
    .name = "avx512vbmi",
    .matvec = kAvx512VbmiMatvec,
#ifndef GGUFX_SMALL
    .matvec_precise = kAvx512VbmiMatvecPrecise,
    .kv_pages = &kAvx512VbmiKvPages,
#endif
};

} // namespace kernels
} // namespace ggufx
