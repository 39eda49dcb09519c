// Q6_K on NEON: a chunk is half a block, 64 bytes of low nibbles and 32 of 2-bit planes, which
// shift-and-insert puts together.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q6_k.hpp"
#include "kernels/loops/unpack.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q6_K> : ScaledGroups<Vec, fmt::Q6_K, 5, 63> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8_t *ql = b->ql + 64 * i, *qh = b->qh + 32 * i;
        uint8x16_t lo[4], hi[4];
        codes16(lo, vld1q_u8(ql), vld1q_u8(ql + 32), vld1q_u8(qh));
        codes16(hi, vld1q_u8(ql + 16), vld1q_u8(ql + 48), vld1q_u8(qh + 16));
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = codes32(lo[j], hi[j]);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const V16 s = widen_i8(vreinterpretq_s8_u8(vld1q_u8(b->scales)));
        return {broadcast_f16(b->d), {widen_i16(s.lo), widen_i16(s.hi)}, s};
    }

    // 16 codes of each quarter of the chunk.
    static GGUFX_INLINE void codes16(uint8x16_t (&c)[4], uint8x16_t first, uint8x16_t second,
                                     uint8x16_t high) {
        const uint8x16_t six = vdupq_n_u8(63), high2 = vshrq_n_u8(high, 2);
        c[0] = vandq_u8(vsliq_n_u8(first, high, 4), six);
        c[1] = vandq_u8(vsliq_n_u8(second, high2, 4), six);
        c[2] = vandq_u8(vsriq_n_u8(high, first, 4), six);
        c[3] = vandq_u8(vsriq_n_u8(high2, second, 4), six);
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
