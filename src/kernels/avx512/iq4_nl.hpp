// IQ4_NL on AVX-512: a shuffle looks up the codes + 128.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq4_nl.hpp"
#include "kernels/avx512/q4_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// Codes of a codebook of 16 in every lane.
GGUFX_INLINE __m512i codebook(const int8_t *codes) {
    return _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i *>(codes)));
}
// IQ4 codes + 128 of 4-bit codes.
GGUFX_INLINE __m512i iq4_codes(__m512i nibbles) {
    const __m512i values = _mm512_xor_si512(codebook(fmt::kCodesIq4), _mm512_set1_epi8(-128));
    return _mm512_shuffle_epi8(values, nibbles);
}

template <> struct Unpack<fmt::IQ4_NL> : PlainBlocks<Vec, fmt::IQ4_NL, 128, 241> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = iq4_codes(nibbles(b[8 * i + j].qs, b[8 * i + 4 + j].qs));
        }
    }
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) { return iq4_codes(v); }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
