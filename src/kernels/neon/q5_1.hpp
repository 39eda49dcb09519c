// Q5_1 on NEON: nibbles, fifth bits as in Q5_0, and a minimum.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_1.hpp"
#include "kernels/neon/q5_0.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q5_1> : MinBlocks<Vec, fmt::Q5_1, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8x16_t fifth = vdupq_n_u8(16);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const V8 low = nibbles(b[4 * i + j].qs);
            uint8x16_t lo, hi;
            spread_bits(lo, hi, load_u32le(b[4 * i + j].qh));
            c[j] = codes32(vorrq_u8(vreinterpretq_u8_s8(low.lo), vandq_u8(fifth, lo)),
                           vorrq_u8(vreinterpretq_u8_s8(low.hi), vandq_u8(fifth, hi)));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b), gather_m(b)};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
