// Q8_0 on AVX-512: the sign bit flipped makes code + 128 unsigned.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q8_0.hpp"
#include "kernels/avx512/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx512 {
namespace {

template <> struct Unpack<fmt::Q8_0> : PlainBlocks<Vec, fmt::Q8_0, 128, 255> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const V8 v = load_halves(b[8 * i + j].qs, b[8 * i + 4 + j].qs);
            c[j] = _mm512_xor_si512(v, _mm512_set1_epi8(-128));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace avx512
} // namespace kernels
} // namespace ggufx
