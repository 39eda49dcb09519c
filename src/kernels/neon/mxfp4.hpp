// MXFP4 on NEON: the doubled fp4 codes are looked up; the scale is an exponent.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/mxfp4.hpp"
#include "kernels/neon/iq4_nl.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::MXFP4> : PlainBlocks<Vec, fmt::MXFP4, 0, 16> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const int8x16_t values = vld1q_s8(fmt::kCodesFp4);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = look_up(values, nibbles(b[4 * i + j].qs));
    }
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) { return look_up(vld1q_s8(fmt::kCodesFp4), v); }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        uint8x8_t e = vdup_n_u8(b[0].e);
        e = vset_lane_u8(b[1].e, e, 1);
        e = vset_lane_u8(b[2].e, e, 2);
        e = vset_lane_u8(b[3].e, e, 3);
        e = vset_lane_u8(b[4].e, e, 4);
        e = vset_lane_u8(b[5].e, e, 5);
        e = vset_lane_u8(b[6].e, e, 6);
        e = vset_lane_u8(b[7].e, e, 7);
        const Vi v = widen_u8(e);
        return {{half_power(v.lo), half_power(v.hi)}};
    }

    // 2^(e - 128): subnormal for e = 0 and 1.
    static GGUFX_INLINE float32x4_t half_power(int32x4_t e) {
        const int32x4_t one = vdupq_n_s32(1);
        const int32x4_t normal = vshlq_n_s32(vsubq_s32(e, one), 23);
        const int32x4_t small = vshlq_s32(vdupq_n_s32(1 << 21), e);
        return vreinterpretq_f32_s32(vbslq_s32(vcgtq_s32(e, one), normal, small));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
