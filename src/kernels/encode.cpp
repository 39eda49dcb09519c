// Which layers have encoders.
// SPDX-License-Identifier: MIT
#include "kernels/encode.hpp"

#include "kernels/table.hpp"

namespace ggufx {
namespace kernels {

namespace {

const Encode *encoders_of(Isa isa) {
#ifdef GGUFX_KERNELS_AVX2
    if (isa == Isa::avx2) return kAvx2Encode;
#endif
#if defined(GGUFX_KERNELS_AVX512) && !defined(GGUFX_SMALL)
    if (isa == Isa::avx512) return kAvx512Encode;
#endif
#ifdef GGUFX_KERNELS_NEON
    if (isa == Isa::neon) return kNeonEncode;
#endif
    static_cast<void>(isa);
    return nullptr;
}

} // namespace

const Encode *find_encode(const Kernels &kernels, uint32_t type, const Layer **layer) {
    if (type >= fmt::kTypeIds) return nullptr;
    for (const Layer *l : kernels.layers) {
        if (!l) break;
        const Encode *entries = encoders_of(l->isa);
        if (!entries || !entries[type].run) continue;
        if (layer) *layer = l;
        return entries + type;
    }
    return nullptr;
}

} // namespace kernels
} // namespace ggufx
