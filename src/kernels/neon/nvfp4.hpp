// NVFP4 on NEON: the codes of MXFP4 in groups of 16, each with a scale in the bits of UE4M3.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/nvfp4.hpp"
#include "kernels/neon/mxfp4.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::NVFP4> : FloatGroups<Vec, fmt::NVFP4, 0, 63> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const int8x16_t values = vld1q_s8(fmt::kCodesFp4);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            c[j] = look_up(values, group_nibbles(b[2 * i + j / 2].qs + 16 * (j % 2)));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {{ue4m3(b), ue4m3(b + 2)}};
    }

    // Two groups: 8 bytes hold low nibbles, then high nibbles of a group.
    static GGUFX_INLINE V8 group_nibbles(const uint8_t *qs) {
        const V8 v = nibbles(qs);
        const int64x2_t low = vreinterpretq_s64_s8(v.lo), high = vreinterpretq_s64_s8(v.hi);
        return {vreinterpretq_s8_s64(vzip1q_s64(low, high)),
                vreinterpretq_s8_s64(vzip2q_s64(low, high))};
    }
    // Halved UE4M3 of the 8 groups of 2 blocks.
    static GGUFX_INLINE Vf ue4m3(const Block *b) {
        const uint32x2_t first = vdup_n_u32(load_u32le(b[0].d));
        const Vi u = widen_u8(vreinterpret_u8_u32(vset_lane_u32(load_u32le(b[1].d), first, 1)));
        return {ue4m3(u.lo), ue4m3(u.hi)};
    }
    // The bytes 0 and 0x7f are 0, bit 7 means nothing.
    static GGUFX_INLINE float32x4_t ue4m3(int32x4_t u) {
        const int32x4_t m = vandq_s32(u, vdupq_n_s32(0x7f));
        const int32x4_t normal = vaddq_s32(vshlq_n_s32(m, 20), vdupq_n_s32((127 - 8) << 23));
        const float32x4_t small = vmulq_n_f32(vcvtq_f32_s32(m), 0x1p-10f);
        const uint32x4_t is_small = vcltq_s32(m, vdupq_n_s32(8));
        const float32x4_t v = vbslq_f32(is_small, small, vreinterpretq_f32_s32(normal));
        const uint32x4_t is_nan = vceqq_s32(u, vdupq_n_s32(0x7f));
        return vreinterpretq_f32_u32(vbicq_u32(vreinterpretq_u32_f32(v), is_nan));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
