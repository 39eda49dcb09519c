// Q5_0 on NEON: nibbles and 32 fifth bits, spread to bytes; signed codes cost nothing here.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_0.hpp"
#include "kernels/neon/q4_0.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

// 0xff in byte i where bit i is set, else 0.
GGUFX_INLINE void spread_bits(uint8x16_t &lo, uint8x16_t &hi, uint32_t bits) {
    constexpr uint8_t kBytes[16] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1};
    const uint8x16_t four = vreinterpretq_u8_u32(vdupq_n_u32(bits));
    const uint8x16_t first = vld1q_u8(kBytes), second = vorrq_u8(first, vdupq_n_u8(2));
    const uint8x16_t bit = vreinterpretq_u8_u64(vdupq_n_u64(0x8040201008040201ull));
    lo = vtstq_u8(vqtbl1q_u8(four, first), bit);
    hi = vtstq_u8(vqtbl1q_u8(four, second), bit);
}

template <> struct Unpack<fmt::Q5_0> : PlainBlocks<Vec, fmt::Q5_0, 0, 16> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8x16_t minus16 = vdupq_n_u8(0xf0); // where the fifth bit is clear
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const V8 low = nibbles(b[4 * i + j].qs);
            uint8x16_t lo, hi;
            spread_bits(lo, hi, load_u32le(b[4 * i + j].qh));
            c[j] = codes32(vorrq_u8(vreinterpretq_u8_s8(low.lo), vbicq_u8(minus16, lo)),
                           vorrq_u8(vreinterpretq_u8_s8(low.hi), vbicq_u8(minus16, hi)));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
