// IQ2_XXS on AVX-512: scales in the top of the words of signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_xxs.hpp"
#include "kernels/avx512/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::IQ2_XXS> : ScaledCodes<Vec, fmt::IQ2_XXS, 64, 64 + 43> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {mul(two_d(b), set1(0.125f)), odd(_mm512_srli_epi32(sign_words(b), 28))};
    }

    // The second words of the 16 groups of two blocks.
    static GGUFX_INLINE __m512i sign_words(const Block *b) {
        const __m512i second =
            _mm512_setr_epi32(1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31);
        return _mm512_permutex2var_epi32(load_i(b[0].qs), second, load_i(b[1].qs));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
