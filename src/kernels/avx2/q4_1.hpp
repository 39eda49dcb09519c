// Q4_1 on AVX2: the codes of Q4_0 and a minimum.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q4_1.hpp"
#include "kernels/avx2/q4_0.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q4_1> : MinBlocks<Vec, fmt::Q4_1, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = nibbles(b[4 * i + j].qs);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return gather_d_and_m<Scales>(b);
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
