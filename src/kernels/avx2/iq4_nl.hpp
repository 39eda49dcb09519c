// IQ4_NL on AVX2: a shuffle looks the codes up; they are signed, up to 127.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq4_nl.hpp"
#include "kernels/avx2/q4_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

// The values of 16 4-bit codes in both lanes.
GGUFX_INLINE __m256i codebook(const int8_t *codes) {
    return _mm256_broadcastsi128_si256(Vec::load16(codes));
}

template <> struct Unpack<fmt::IQ4_NL> : PlainBlocks<Vec, fmt::IQ4_NL, 0, 128> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const __m256i values = codebook(fmt::kCodesIq4);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = _mm256_shuffle_epi8(values, nibbles(b[4 * i + j].qs));
        }
    }
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) {
        return _mm256_shuffle_epi8(codebook(fmt::kCodesIq4), v);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
