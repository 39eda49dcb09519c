// Q5_K on NEON: Q4_K with a plane of fifth bits, bit g for group g of 32; shift-and-insert puts
// them together.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q5_k.hpp"
#include "kernels/neon/q4_k.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q5_K> : ScaledBlocks<Vec, fmt::Q5_K, 31> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8_t *qs = b->qs + 64 * i;
        uint8x16_t lo[4], hi[4];
        codes16(lo, vld1q_u8(qs), vld1q_u8(qs + 32), plane(b->qh, i));
        codes16(hi, vld1q_u8(qs + 16), vld1q_u8(qs + 48), plane(b->qh + 16, i));
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = codes32(lo[j], hi[j]);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return Unpack<fmt::Q4_K>::header_scales<Scales>(b->d);
    }

    // Bits 0..3 are those of the chunk's four groups.
    static GGUFX_INLINE uint8x16_t plane(const uint8_t *qh, unsigned i) {
        const uint8x16_t v = vld1q_u8(qh);
        return i == 0 ? v : vshrq_n_u8(v, 4);
    }
    // 16 codes of each quarter of the chunk.
    static GGUFX_INLINE void codes16(uint8x16_t (&c)[4], uint8x16_t first, uint8x16_t second,
                                     uint8x16_t high) {
        const uint8x16_t five = vdupq_n_u8(31);
        c[0] = vandq_u8(vsliq_n_u8(first, high, 4), five);
        c[1] = vandq_u8(vsriq_n_u8(vshlq_n_u8(high, 3), first, 4), five);
        c[2] = vandq_u8(vsliq_n_u8(second, vshrq_n_u8(high, 2), 4), five);
        c[3] = vandq_u8(vsriq_n_u8(vshlq_n_u8(high, 1), second, 4), five);
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
