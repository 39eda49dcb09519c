// Q5_1 on AVX-512: the codes of Q5_0 and a minimum.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_1.hpp"
#include "kernels/avx512/q5_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::Q5_1> : MinBlocks<Vec, fmt::Q5_1, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = five_bits(b[8 * i + j], b[8 * i + 4 + j]);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return gather_d_and_m<Scales>(b);
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
