// IQ4_XS on NEON: the codes of IQ4_NL, eight 6-bit scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq4_xs.hpp"
#include "kernels/neon/iq4_nl.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::IQ4_XS> : ScaledCodes<Vec, fmt::IQ4_XS, 0, 128> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const int8x16_t values = vld1q_s8(fmt::kCodesIq4);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = look_up(values, nibbles(b->qs + 64 * i + 16 * j));
        }
    }
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) { return look_up(vld1q_s8(fmt::kCodesIq4), v); }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        constexpr int32_t kFours[8] = {0, -4, -8, -12, -16, -20, -24, -28};
        constexpr int32_t kTwos[8] = {4, 2, 0, -2, -4, -6, -8, -10};
        const uint32x4_t low = vdupq_n_u32(load_u32le(b->scales_l));
        const uint32x4_t high = vdupq_n_u32(load_u16le(b->scales_h));
        return {broadcast_f16(b->d),
                {six_bits(low, high, kFours, kTwos), six_bits(low, high, kFours + 4, kTwos + 4)}};
    }

    // Four scales -32..31: four bits of one word, the upper two of the other.
    static GGUFX_INLINE int32x4_t six_bits(uint32x4_t low, uint32x4_t high, const int32_t *fours,
                                           const int32_t *twos) {
        const uint32x4_t l = vandq_u32(vshlq_u32(low, vld1q_s32(fours)), vdupq_n_u32(15));
        const uint32x4_t h = vandq_u32(vshlq_u32(high, vld1q_s32(twos)), vdupq_n_u32(0x30));
        return vsubq_s32(vreinterpretq_s32_u32(vorrq_u32(l, h)), vdupq_n_s32(32));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
