// Q4_0 on NEON: 16 bytes are the low nibbles of values 0..15 and the high ones of 16..31.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q4_0.hpp"
#include "kernels/loops/unpack.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

// 32 codes 0..15 from 16 bytes: low nibbles, then high nibbles.
GGUFX_INLINE Vec::V8 nibbles(const uint8_t *qs) {
    const uint8x16_t v = vld1q_u8(qs);
    return codes32(vandq_u8(v, vdupq_n_u8(15)), vshrq_n_u8(v, 4));
}

template <> struct Unpack<fmt::Q4_0> : PlainBlocks<Vec, fmt::Q4_0, 8, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = nibbles(b[4 * i + j].qs);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
