// What the IQ types share on NEON: 32 signed codes from grid rows and signs, scales.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/grid.hpp"
#include "kernels/loops/unpack.hpp"
#include "kernels/neon/q5_0.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

// 16 codes of two grid rows; signs: bytes of -1 where a bit is set, of 0 elsewhere.
template <bool Ternary>
GGUFX_INLINE int8x16_t grid_codes16(uint64_t first, uint64_t second, uint8x16_t signs) {
    const int8x16_t v = vreinterpretq_s8_u64(vcombine_u64(vcreate_u64(first), vcreate_u64(second)));
    const int8x16_t s = vreinterpretq_s8_u8(signs);
    if constexpr (Ternary) return vaddq_s8(vshlq_n_s8(v, 3), vorrq_s8(s, vdupq_n_s8(1)));
    return vsubq_s8(veorq_s8(v, s), s);
}

// Not inlined: a loop over four streams would hold twenty copies, for which gcc takes minutes.
template <class F>
__attribute__((noinline)) void load_grid(Vec::V8 (&c)[4], const typename F::Block *b, unsigned i) {
    constexpr bool ternary = kTernaryGrid<F>;
#pragma GCC unroll 4
    for (unsigned j = 0; j < 4; j++) {
        const Grid32 g = GridRows<F>::load(*b, 4 * i + j);
        uint8x16_t lo, hi;
        spread_bits(lo, hi, g.signs);
        c[j] = {grid_codes16<ternary>(g.rows[0], g.rows[1], lo),
                grid_codes16<ternary>(g.rows[2], g.rows[3], hi)};
    }
}

// 2 * v + 1.
GGUFX_INLINE uint8x8_t odd(uint8x8_t v) {
    return vorr_u8(vshl_n_u8(v, 1), vdup_n_u8(1));
}
GGUFX_INLINE uint16x8_t odd(uint16x8_t v) {
    return vorrq_u16(vshlq_n_u16(v, 1), vdupq_n_u16(1));
}
GGUFX_INLINE int32x4_t odd(uint32x4_t v) {
    return vreinterpretq_s32_u32(vorrq_u32(vshlq_n_u32(v, 1), vdupq_n_u32(1)));
}

// 2 * s + 1 of the nibbles of 8 bytes.
GGUFX_INLINE int8x16_t odd_nibbles(uint8x8_t v) {
    const uint8x8_t low = odd(vand_u8(v, vdup_n_u8(15))), high = odd(vshr_n_u8(v, 4));
    return vreinterpretq_s8_u8(vcombine_u8(vzip1_u8(low, high), vzip2_u8(low, high)));
}

// What fold and store_scales of 16 int8 scales want.
template <class S> GGUFX_INLINE S group_scales(Vec::Vf d, int8x16_t scales) {
    const Vec::V16 s = Vec::widen_i8(scales);
    return {d, {Vec::widen_i16(s.lo), Vec::widen_i16(s.hi)}, s};
}

// The IQ2 types with nibbles of scales per 16.
template <class U, class F> struct NibbleScales : UnpackedGroups<U, Vec, F, 0, 63> {
    static constexpr bool kSigned = true;
    using Block = typename F::Block;
    using Scales = typename UnpackedGroups<U, Vec, F, 0, 63>::Scales;
    static GGUFX_INLINE void load_u8(Vec::V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<F>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return group_scales<Scales>(block_d(*b), odd_nibbles(vld1_u8(b->scales)));
    }
    static GGUFX_INLINE void scales16(uint8_t *to, const Block &b) {
        vst1q_u8(to, vreinterpretq_u8_s8(odd_nibbles(vld1_u8(b.scales))));
    }
    static GGUFX_INLINE Vec::Vf block_d(const Block &b) {
        return Vec::mul(Vec::broadcast_f16(b.d), Vec::set1(0.125f));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
