// Q8_0 on AVX2: signed codes as they stand; -128 is fine because |q| <= 127.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q8_0.hpp"
#include "kernels/avx2/vec.hpp"
#include "kernels/loops/unpack.hpp"

namespace ggufx {
namespace kernels {
namespace avx2 {
namespace {

template <> struct Unpack<fmt::Q8_0> : PlainBlocks<Vec, fmt::Q8_0, 0, 128> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = load32(b[4 * i + j].qs);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace avx2
} // namespace kernels
} // namespace ggufx
