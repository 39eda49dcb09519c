// Q2_0 on NEON: each byte of four neighbours copied to four, which are shifted apart.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q2_0.hpp"
#include "kernels/loops/unpack.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q2_0> : PlainBlocks<Vec, fmt::Q2_0, 1, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        constexpr uint8_t kBytes[16] = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3};
        const uint8x16_t first = vld1q_u8(kBytes), four = vdupq_n_u8(4);
#pragma GCC unroll 2
        for (unsigned j = 0; j < 2; j++) {
            const uint8x16_t v = vld1q_u8(b[2 * i + j].qs), second = vaddq_u8(first, four);
            const uint8x16_t third = vaddq_u8(second, four), fourth = vaddq_u8(third, four);
            c[2 * j] = codes32(spread(v, first), spread(v, second));
            c[2 * j + 1] = codes32(spread(v, third), spread(v, fourth));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_f16([b](unsigned i) __attribute__((always_inline)) { return b[i / 2].d; })};
    }

    static GGUFX_INLINE uint8x16_t spread(uint8x16_t v, uint8x16_t bytes) {
        const int8x16_t shifts = vreinterpretq_s8_u32(vdupq_n_u32(0xfafcfe00u)); // 0, -2, -4, -6
        return vandq_u8(vshlq_u8(vqtbl1q_u8(v, bytes), shifts), vdupq_n_u8(3));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
