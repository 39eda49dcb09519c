// Q5_K on AVX-512: Q4_K with a plane of fifth bits, bit g for group g of 32.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_k.hpp"
#include "kernels/avx512/q4_k.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::Q5_K> : ScaledBlocks<Vec, fmt::Q5_K, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8_t *qs = b[i].qs;
        const V8 even = load_halves(qs, qs + 64), odd = load_halves(qs + 32, qs + 96);
        const V8 high = load_halves(b[i].qh, b[i].qh);
        c[0] = five_bits(even, high, 1);
        c[1] = five_bits(_mm512_srli_epi16(even, 4), high, 2);
        c[2] = five_bits(odd, high, 4);
        c[3] = five_bits(_mm512_srli_epi16(odd, 4), high, 8);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return Unpack<fmt::Q4_K>::header_scales<Scales>(b[0].d, b[1].d);
    }

    // Low nibbles, and 16 where the plane of the group is set: `bit` for groups 0..3 in the lower
    // half, bit << 4 for 4..7 in the upper one.
    static GGUFX_INLINE V8 five_bits(V8 nibbles, V8 high, char bit) {
        const __m512i low = _mm512_and_si512(nibbles, _mm512_set1_epi8(15));
        const V8 bits = _mm512_inserti64x4(_mm512_set1_epi8(bit),
                                           _mm256_set1_epi8(static_cast<char>(bit << 4)), 1);
        return _mm512_mask_add_epi8(low, _mm512_test_epi8_mask(high, bits), low,
                                    _mm512_set1_epi8(16));
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
