// IQ3_S on NEON: nibbles of scales per 32.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq3_s.hpp"
#include "kernels/neon/grid.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::IQ3_S> : ScaledCodes<Vec, fmt::IQ3_S, 0, 16> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        load_grid<fmt::IQ3_S>(c, b, i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const uint8x8_t twice = vreinterpret_u8_u32(vdup_n_u32(load_u32le(b->scales)));
        return {broadcast_f16(b->d), widen_i16(vmovl_s8(vget_low_s8(odd_nibbles(twice))))};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
