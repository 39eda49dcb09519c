// IQ4_XS on AVX2: the codes of IQ4_NL, eight 6-bit scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq4_xs.hpp"
#include "kernels/avx2/iq4_nl.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::IQ4_XS> : ScaledCodes<Vec, fmt::IQ4_XS, 0, 128> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m256i values = codebook(fmt::kCodesIq4);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = _mm256_shuffle_epi8(values, nibbles(b->qs + 64 * i + 16 * j));
        }
    }
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) {
        return _mm256_shuffle_epi8(codebook(fmt::kCodesIq4), v);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        int32_t low;
        __builtin_memcpy(&low, b->scales_l, sizeof low);
        const __m256i fours = _mm256_setr_epi32(0, 4, 8, 12, 16, 20, 24, 28);
        const __m256i l = _mm256_srlv_epi32(set1_i(low), fours);
        const __m256i h =
            _mm256_srlv_epi32(set1_i(load_u16le(b->scales_h) << 4), _mm256_srli_epi32(fours, 1));
        const __m256i six =
            _mm256_or_si256(_mm256_and_si256(l, set1_i(15)), _mm256_and_si256(h, set1_i(0x30)));
        return {broadcast_f16(b->d), sub_i(six, set1_i(32))};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
