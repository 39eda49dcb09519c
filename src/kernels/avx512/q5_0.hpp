// Q5_0 on AVX-512: nibbles; the fifth bits are a mask.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_0.hpp"
#include "kernels/avx512/q4_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// Codes 0..31 of two blocks.
template <class Block> GGUFX_INLINE __m512i five_bits(const Block &first, const Block &second) {
    uint32_t low, high;
    __builtin_memcpy(&low, first.qh, sizeof low);
    __builtin_memcpy(&high, second.qh, sizeof high);
    const __mmask64 fifth = low | static_cast<uint64_t>(high) << 32;
    const __m512i four = nibbles(first.qs, second.qs);
    return _mm512_mask_add_epi8(four, fifth, four, _mm512_set1_epi8(16));
}

template <> struct Unpack<fmt::Q5_0> : PlainBlocks<Vec, fmt::Q5_0, 16, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = five_bits(b[8 * i + j], b[8 * i + 4 + j]);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
