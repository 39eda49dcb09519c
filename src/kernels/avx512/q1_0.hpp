// Q1_0 on AVX-512: the bits are masks; codes 0 and 2.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q1_0.hpp"
#include "kernels/avx512/planes.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

// n = 1..3: bit p of all nibbles is plane p.
struct Q1_0InPlanes : PlainBlocks<PlaneVec, fmt::Q1_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const auto block = [ b, i ](unsigned j) __attribute__((always_inline)) {
            return _mm_loadu_si128(reinterpret_cast<const __m128i *>(b[2 * i + j].qs));
        };
        const __m512i bytes = _mm512_cvtepu8_epi16(
            _mm256_inserti128_si256(_mm256_castsi128_si256(block(0)), block(1), 1));
        const __m512i v = _mm512_or_si512(bytes, _mm512_slli_epi16(bytes, 4)); // a nibble per byte
        const __m512i two = _mm512_set1_epi8(2);
        c[0] = _mm512_and_si512(_mm512_add_epi8(v, v), two);
        c[1] = _mm512_and_si512(v, two);
        c[2] = _mm512_and_si512(_mm512_srli_epi16(v, 1), two);
        c[3] = _mm512_and_si512(_mm512_srli_epi16(v, 2), two);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d<4>(b)}; }
};

template <> struct Unpack<fmt::Q1_0> : PlainBlocks<Vec, fmt::Q1_0, 1, 3> {
    using InPlanes = Q1_0InPlanes;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            uint32_t low, high;
            __builtin_memcpy(&low, b[2 * i].qs + 4 * j, sizeof low);
            __builtin_memcpy(&high, b[2 * i + 1].qs + 4 * j, sizeof high);
            const __mmask64 bits = low | static_cast<uint64_t>(high) << 32;
            c[j] = _mm512_maskz_mov_epi8(bits, _mm512_set1_epi8(2));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d<4>(b)};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
