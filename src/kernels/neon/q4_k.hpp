// Q4_K on NEON: the 16 bytes before the codes are the whole header of a block.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q4_k.hpp"
#include "kernels/loops/unpack.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q4_K> : ScaledBlocks<Vec, fmt::Q4_K, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8x16_t low = vdupq_n_u8(15);
#pragma GCC unroll 2
        for (unsigned j = 0; j < 2; j++) {
            const uint8_t *qs = b->qs + 64 * i + 32 * j;
            const uint8x16_t v0 = vld1q_u8(qs), v1 = vld1q_u8(qs + 16);
            c[2 * j] = codes32(vandq_u8(v0, low), vandq_u8(v1, low));
            c[2 * j + 1] = codes32(vshrq_n_u8(v0, 4), vshrq_n_u8(v1, 4));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return header_scales<Scales>(b->d);
    }

    // Of the 16 bytes d, dmin, scales: Q5_K begins with them too.
    template <class S> static GGUFX_INLINE S header_scales(const uint8_t *header) {
        const uint8x16_t head = vld1q_u8(header), six = scales6(head);
        const float32x4_t dd = vcvt_f32_f16(vreinterpret_f16_u8(vget_low_u8(head)));
        const float32x4_t d = vdupq_laneq_f32(dd, 0), dmin = vdupq_laneq_f32(dd, 1);
        return {{d, d},
                {dmin, dmin},
                widen_u8(vget_low_u8(six)),
                to_float(widen_u8(vget_high_u8(six)))};
    }

    // 8 scales, 8 minimums. Double words of the header: d and dmin, low six bits of scales 0..3,
    // of minimums 0..3 (their upper two bits belong to 4..7), low nibbles of both 4..7.
    static GGUFX_INLINE uint8x16_t scales6(uint8x16_t head) {
        constexpr uint8_t kLowOrder[16] = {4, 5, 6,  7,  12, 13, 14, 15,
                                           8, 9, 10, 11, 12, 13, 14, 15};
        constexpr uint8_t kHighOrder[16] = {16, 16, 16, 16, 4, 5, 6,  7,
                                            16, 16, 16, 16, 8, 9, 10, 11};
        constexpr int8_t kShifts[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, -4, -4, -4, -4};
        const uint8x16_t low = vshlq_u8(vqtbl1q_u8(head, vld1q_u8(kLowOrder)), vld1q_s8(kShifts));
        const uint8x16_t high = vshrq_n_u8(vqtbl1q_u8(head, vld1q_u8(kHighOrder)), 6);
        const uint8x16_t low_bits = vreinterpretq_u8_u64(vdupq_n_u64(0x0f0f0f0f3f3f3f3full));
        return vorrq_u8(vandq_u8(low, low_bits), vshlq_n_u8(high, 4));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
