// IQ3_XXS on AVX2: scales in the top of the words of signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq3_xxs.hpp"
#include "kernels/avx2/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::IQ3_XXS> : ScaledCodes<Vec, fmt::IQ3_XXS, 64, 64 + 62> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {mul(broadcast_f16(b->d), set1(0.25f)), odd(_mm256_srli_epi32(load32(b->gas), 28))};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
