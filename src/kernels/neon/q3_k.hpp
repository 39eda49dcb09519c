// Q3_K on NEON: the planes of TQ2_0, a third bit in a plane of its own, which shift-and-insert
// puts above them; 6-bit scales per 16.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q3_k.hpp"
#include "kernels/neon/q2_k.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q3_K> : PackedGroups<Unpack<fmt::Q3_K>, Vec, fmt::Q3_K, 2, 7> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        uint8x16_t lo[4], hi[4];
        codes16(lo, vld1q_u8(b->qs + 32 * i), third_bits(b->hmask, i));
        codes16(hi, vld1q_u8(b->qs + 32 * i + 16), third_bits(b->hmask + 16, i));
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = codes32(lo[j], hi[j]);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const V16 s = widen_i8(scales6(b->scales));
        return {broadcast_f16(b->d), zero(), {widen_i16(s.lo), widen_i16(s.hi)}, s};
    }

    // Bits 0..3 are those of the chunk's four groups.
    static GGUFX_INLINE uint8x16_t third_bits(const uint8_t *hmask, unsigned i) {
        const uint8x16_t v = vld1q_u8(hmask);
        return i == 0 ? v : vshrq_n_u8(v, 4);
    }
    // 16 codes of each quarter of the chunk.
    static GGUFX_INLINE void codes16(uint8x16_t (&c)[4], uint8x16_t v, uint8x16_t high) {
        const uint8x16_t three = vdupq_n_u8(7);
        c[0] = vandq_u8(vsliq_n_u8(v, high, 2), three);
        c[1] = vandq_u8(vsliq_n_u8(vshrq_n_u8(v, 2), vshrq_n_u8(high, 1), 2), three);
        c[2] = vandq_u8(vsliq_n_u8(vshrq_n_u8(v, 4), vshrq_n_u8(high, 2), 2), three);
        c[3] = vandq_u8(vsliq_n_u8(vshrq_n_u8(v, 6), vshrq_n_u8(high, 3), 2), three);
    }

    // 16 scales -32..31: low nibbles in 8 bytes, four 2-bit planes in 4.
    static GGUFX_INLINE int8x16_t scales6(const uint8_t *p) {
        constexpr int32_t kPlanes[4] = {0, -2, -4, -6};
        const uint8x8_t v = vld1_u8(p);
        const uint8x16_t low = vcombine_u8(vand_u8(v, vdup_n_u8(15)), vshr_n_u8(v, 4));
        const uint32x4_t planes = vdupq_n_u32(load_u32le(p + 8));
        const uint8x16_t high = vreinterpretq_u8_u32(vshlq_u32(planes, vld1q_s32(kPlanes)));
        const uint8x16_t six = vorrq_u8(low, vshlq_n_u8(vandq_u8(high, vdupq_n_u8(3)), 4));
        return vreinterpretq_s8_u8(vsubq_u8(six, vdupq_n_u8(32)));
    }
    static GGUFX_INLINE GroupScales group_scales(const Block &b) {
        GroupScales to;
        vst1q_s8(to.scale, scales6(b.scales));
        return to;
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
