// IQ2_XXS on AVX2: scales in the top of the words of signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_xxs.hpp"
#include "kernels/avx2/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::IQ2_XXS> : ScaledCodes<Vec, fmt::IQ2_XXS, 64, 64 + 43> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m256i words = _mm256_castps_si256(
            _mm256_shuffle_ps(_mm256_castsi256_ps(load32(b->qs)),
                              _mm256_castsi256_ps(load32(b->qs + 32)), 0xdd)); // 0 1 4 5 2 3 6 7
        const __m256i high = _mm256_srli_epi32(_mm256_permute4x64_epi64(words, 0xd8), 28);
        return {mul(broadcast_f16(b->d), set1(0.125f)), odd(high)};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
