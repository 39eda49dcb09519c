// IQ2_XXS on NEON: scales in the top of the words of signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq2_xxs.hpp"
#include "kernels/neon/grid.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::IQ2_XXS> : ScaledCodes<Vec, fmt::IQ2_XXS, 0, 63> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<fmt::IQ2_XXS>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {mul(broadcast_f16(b->d), set1(0.125f)), {scales4(b->qs), scales4(b->qs + 32)}};
    }

    // Four groups, eight bytes each.
    static GGUFX_INLINE int32x4_t scales4(const uint8_t *qs) {
        const uint32x4_t first = vreinterpretq_u32_u8(vld1q_u8(qs));
        const uint32x4_t second = vreinterpretq_u32_u8(vld1q_u8(qs + 16));
        return odd(vshrq_n_u32(vuzp2q_u32(first, second), 28));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
