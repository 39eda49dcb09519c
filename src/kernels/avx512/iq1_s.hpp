// IQ1_S on AVX-512: scales of three bits in the words of high index bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq1_s.hpp"
#include "kernels/avx512/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::IQ1_S> : ScaledCodes<Vec, fmt::IQ1_S, 16, 16 + 9> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const __m128i lo = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b[0].qh));
        const __m128i hi = _mm_loadu_si128(reinterpret_cast<const __m128i *>(b[1].qh));
        const __m256i words = _mm256_inserti128_si256(_mm256_castsi128_si256(lo), hi, 1);
        const __m512i v = _mm512_srli_epi32(_mm512_cvtepu16_epi32(words), 12);
        return {mul(two_d(b), set1(0.125f)), odd(_mm512_and_si512(v, set1_i(7)))};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
