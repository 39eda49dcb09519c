// Q2_K on NEON: the planes of TQ2_0, nibbles of scales and minimums per 16.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q2_k.hpp"
#include "kernels/neon/q4_0.hpp"
#include "kernels/neon/tq2_0.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q2_K> : PackedGroups<Unpack<fmt::Q2_K>, Vec, fmt::Q2_K, 0, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes(c, b->qs + 32 * i);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        const V8 v = nibbles(b->scales);
        const V16 s = widen_i8(v.lo);
        return {broadcast_f16(b->d),
                broadcast_f16(b->dmin),
                {widen_i16(s.lo), widen_i16(s.hi)},
                widen_i8(v.hi)};
    }
    static GGUFX_INLINE GroupScales group_scales(const Block &b) {
        GroupScales to;
        const V8 v = nibbles(b.scales);
        vst1q_s8(to.scale, v.lo);
        vst1q_s8(to.min, v.hi);
        return to;
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
