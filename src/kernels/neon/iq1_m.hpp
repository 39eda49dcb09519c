// IQ1_M on NEON: scales of three bits per 16, d in the top nibbles of their words.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq1_m.hpp"
#include "kernels/neon/grid.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::IQ1_M> : UnpackedGroups<Unpack<fmt::IQ1_M>, Vec, fmt::IQ1_M, 0, 63> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<fmt::IQ1_M>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return group_scales<Scales>(block_d(*b), odd_thirds(*b));
    }
    static GGUFX_INLINE void scales16(uint8_t *to, const Block &b) {
        vst1q_u8(to, vreinterpretq_u8_s8(odd_thirds(b)));
    }
    static GGUFX_INLINE Vf block_d(const Block &b) {
        return mul(broadcast_f16(iq1_m_d(b).bits), set1(0.125f));
    }

    // 2 * s + 1 of four 3-bit fields in each of four words.
    static GGUFX_INLINE int8x16_t odd_thirds(const Block &b) {
        const uint16x4_t words = vreinterpret_u16_u8(vld1_u8(b.scales));
        const uint8x8_t lo = fields(vdup_lane_u16(words, 0), vdup_lane_u16(words, 1));
        const uint8x8_t hi = fields(vdup_lane_u16(words, 2), vdup_lane_u16(words, 3));
        return vreinterpretq_s8_u8(vcombine_u8(lo, hi));
    }
    static GGUFX_INLINE uint8x8_t fields(uint16x4_t first, uint16x4_t second) {
        constexpr int16_t kThrees[8] = {0, -3, -6, -9, 0, -3, -6, -9};
        const uint16x8_t v = vshlq_u16(vcombine_u16(first, second), vld1q_s16(kThrees));
        return vmovn_u16(odd(vandq_u16(v, vdupq_n_u16(7))));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
