// IQ3_S on AVX-512: nibbles of scales per 32.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq3_s.hpp"
#include "kernels/avx512/grid.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::IQ3_S> : ScaledCodes<Vec, fmt::IQ3_S, 16, 16 + 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<Unpack>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        int32_t nibbles[2];
        __builtin_memcpy(&nibbles[0], b[0].scales, sizeof nibbles[0]);
        __builtin_memcpy(&nibbles[1], b[1].scales, sizeof nibbles[1]);
        const __m512i fours =
            _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
        const __m512i both = _mm512_mask_set1_epi32(set1_i(nibbles[0]), 0xff00, nibbles[1]);
        const __m512i v = _mm512_srlv_epi32(both, fours);
        return {two_d(b), odd(_mm512_and_si512(v, set1_i(15)))};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
