// IQ3_XXS on AVX-512: scales in the top of the words of signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq3_xxs.hpp"
#include "kernels/avx512/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::IQ3_XXS> : ScaledCodes<Vec, fmt::IQ3_XXS, 64, 64 + 62> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m512i words = load_halves(b[0].gas, b[1].gas);
        return {mul(two_d(b), set1(0.25f)), odd(_mm512_srli_epi32(words, 28))};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
