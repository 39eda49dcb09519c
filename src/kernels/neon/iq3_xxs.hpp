// IQ3_XXS on NEON: scales in the top of the words of signs.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq3_xxs.hpp"
#include "kernels/neon/grid.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::IQ3_XXS> : ScaledCodes<Vec, fmt::IQ3_XXS, 0, 63> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<fmt::IQ3_XXS>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {mul(broadcast_f16(b->d), set1(0.25f)), {scales4(b->gas), scales4(b->gas + 16)}};
    }

    static GGUFX_INLINE int32x4_t scales4(const uint8_t *words) {
        return odd(vshrq_n_u32(vreinterpretq_u32_u8(vld1q_u8(words)), 28));
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
