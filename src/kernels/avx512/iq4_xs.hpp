// IQ4_XS on AVX-512: the codes of IQ4_NL, eight 6-bit scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq4_xs.hpp"
#include "kernels/avx512/iq4_nl.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::IQ4_XS> : ScaledCodes<Vec, fmt::IQ4_XS, 128, 241> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = iq4_codes(nibbles(b[i].qs + 16 * j, b[i].qs + 64 + 16 * j));
        }
    }
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) { return iq4_codes(v); }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        int32_t low[2];
        __builtin_memcpy(&low[0], b[0].scales_l, sizeof low[0]);
        __builtin_memcpy(&low[1], b[1].scales_l, sizeof low[1]);
        const int32_t high[2] = {load_u16le(b[0].scales_h) << 4, load_u16le(b[1].scales_h) << 4};
        const __m512i fours =
            _mm512_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28, 0, 4, 8, 12, 16, 20, 24, 28);
        const __m512i l = _mm512_srlv_epi32(two(low), fours);
        const __m512i h = _mm512_srlv_epi32(two(high), _mm512_srli_epi32(fours, 1));
        const __m512i six =
            _mm512_or_si512(_mm512_and_si512(l, set1_i(15)), _mm512_and_si512(h, set1_i(0x30)));
        return {two_d(b), sub_i(six, set1_i(32))};
    }

    static GGUFX_INLINE __m512i two(const int32_t (&v)[2]) {
        return _mm512_mask_set1_epi32(set1_i(v[0]), 0xff00, v[1]);
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
