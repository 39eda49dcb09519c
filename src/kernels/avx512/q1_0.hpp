// Q1_0 on AVX-512: the bits are masks; codes 0 and 2.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q1_0.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::Q1_0> : PlainBlocks<Vec, fmt::Q1_0, 1, 3> {
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
