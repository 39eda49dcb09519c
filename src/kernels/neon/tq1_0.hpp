// TQ1_0 on NEON: trits are read from the top of a byte, which is then tripled: 5 trits of 32
// bytes, 5 of 16 bytes, 4 of 4 bytes.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/tq1_0.hpp"
#include "kernels/loops/unpack.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

GGUFX_INLINE uint8x16_t triple(uint8x16_t v) {
    return vaddq_u8(v, vaddq_u8(v, v));
}
// 3 * v / 256 - 1: two comparisons give 0 or -1 each.
GGUFX_INLINE int8x16_t top_trit(uint8x16_t v) {
    const uint8x16_t some = vcgeq_u8(v, vdupq_n_u8(86)), two = vcgeq_u8(v, vdupq_n_u8(171));
    return vreinterpretq_s8_u8(vmvnq_u8(vaddq_u8(some, two)));
}

template <> struct Unpack<fmt::TQ1_0> : PlainBlocks<Vec, fmt::TQ1_0, 0, 16> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        uint8x16_t lo = vld1q_u8(b->qs), hi = vld1q_u8(b->qs + 16);
        if (i == 0) {
#pragma GCC unroll 4
            for (unsigned j = 0; j < 4; j++, lo = triple(lo), hi = triple(hi)) {
                c[j] = {top_trit(lo), top_trit(hi)};
            }
            return;
        }
        c[0] = {top_trit(fifth(lo)), top_trit(fifth(hi))};
        uint8x16_t half = vld1q_u8(b->qs + 32);
#pragma GCC unroll 2
        for (unsigned j = 1; j < 3; j++, half = triple(triple(half))) {
            c[j] = {top_trit(half), top_trit(triple(half))};
        }
        c[3] = {top_trit(half), top_trit(last_bytes(b->qh))};
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {broadcast_f16(b->d)};
    }

    static GGUFX_INLINE uint8x16_t fifth(uint8x16_t v) {
        return vmulq_u8(v, vdupq_n_u8(81));
    }
    // Four bytes times 1, 3, 9, 27.
    static GGUFX_INLINE uint8x16_t last_bytes(const uint8_t *qh) {
        constexpr uint8_t kPowers[16] = {1, 1, 1, 1, 3, 3, 3, 3, 9, 9, 9, 9, 27, 27, 27, 27};
        const uint8x16_t four = vreinterpretq_u8_u32(vdupq_n_u32(load_u32le(qh)));
        return vmulq_u8(four, vld1q_u8(kPowers));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
