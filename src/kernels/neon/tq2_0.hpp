// TQ2_0 on NEON: four planes of two bits in 32 bytes; one scale per 256 values.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/tq2_0.hpp"
#include "kernels/loops/unpack.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

// Planes 0..3 of 32 bytes.
GGUFX_INLINE void two_bit_planes(Vec::V8 (&c)[4], const uint8_t *qs) {
    const uint8x16_t a = vld1q_u8(qs), b = vld1q_u8(qs + 16), low = vdupq_n_u8(3);
    c[0] = codes32(vandq_u8(a, low), vandq_u8(b, low));
    c[1] = codes32(vandq_u8(vshrq_n_u8(a, 2), low), vandq_u8(vshrq_n_u8(b, 2), low));
    c[2] = codes32(vandq_u8(vshrq_n_u8(a, 4), low), vandq_u8(vshrq_n_u8(b, 4), low));
    c[3] = codes32(vshrq_n_u8(a, 6), vshrq_n_u8(b, 6));
}

template <> struct Unpack<fmt::TQ2_0> : PlainBlocks<Vec, fmt::TQ2_0, 1, 15> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes(c, b->qs + 32 * i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {broadcast_f16(b->d)}; }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
