// Q5_1 on AVX2: the codes of Q5_0 and a minimum.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_1.hpp"
#include "kernels/avx2/q5_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q5_1> : MinBlocks<Vec, fmt::Q5_1, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const Block &block = b[4 * i + j];
            c[j] = _mm256_or_si256(nibbles(block.qs), fifth_bits(block.qh));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return gather_d_and_m<Scales>(b);
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
