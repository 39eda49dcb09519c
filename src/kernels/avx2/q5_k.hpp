// Q5_K on AVX2: Q4_K with a plane of fifth bits, bit g for group g of 32.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_k.hpp"
#include "kernels/avx2/q4_k.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q5_K> : ScaledBlocks<Vec, fmt::Q5_K, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const V8 first = load32(b->qs + 64 * i), second = load32(b->qs + 64 * i + 32);
        const V8 high = _mm256_srl_epi16(load32(b->qh), _mm_cvtsi32_si128(4 * static_cast<int>(i)));
        c[0] = five_bits(first, _mm256_slli_epi16(high, 4));
        c[1] = five_bits(_mm256_srli_epi16(first, 4), _mm256_slli_epi16(high, 3));
        c[2] = five_bits(second, _mm256_slli_epi16(high, 2));
        c[3] = five_bits(_mm256_srli_epi16(second, 4), _mm256_slli_epi16(high, 1));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return Unpack<fmt::Q4_K>::header_scales<Scales>(b->d);
    }

    static GGUFX_INLINE V8 five_bits(V8 low, V8 high) {
        return _mm256_or_si256(_mm256_and_si256(low, _mm256_set1_epi8(15)),
                               _mm256_and_si256(high, _mm256_set1_epi8(16)));
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
