// IQ1_S on NEON: scales of three bits in the words of high index bits.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq1_s.hpp"
#include "kernels/neon/grid.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::IQ1_S> : ScaledCodes<Vec, fmt::IQ1_S, 0, 16> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<fmt::IQ1_S>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const uint16x8_t s = vandq_u16(vshrq_n_u16(load_u16(b->qh), 12), vdupq_n_u16(7));
        return {mul(broadcast_f16(b->d), set1(0.125f)), widen_i16(vreinterpretq_s16_u16(odd(s)))};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
