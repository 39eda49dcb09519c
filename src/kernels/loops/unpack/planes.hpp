// Q1_0 and Q2_0 for row-wise products with activations in planes (<isa>/planes.hpp): value p of
// each four adjacent values belongs to plane p, which takes one shift.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/unpack/parts.hpp"

namespace ggufx::kernels::GGUFX_SET {
namespace {

// Bit p of all nibbles, as 0 or 2.
template <> struct UnpackPlanes<fmt::Q1_0> : PlainBlocks<PlaneVec, fmt::Q1_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        using Pairs = VectorOf<uint16_t, sizeof(V8)>::Type;
        const auto bytes = (Pairs)widen_sixteen(load_sixteen(block_at(b, i).qs, sizeof(Block)));
        const Pairs v = bytes | bytes << 4; // a nibble per byte
        c[0] = (V8)(v << 1 & 0x0202);
        c[1] = (V8)(v & 0x0202);
        c[2] = (V8)(v >> 1 & 0x0202);
        c[3] = (V8)(v >> 2 & 0x0202);
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d<4>(b)}; }
};

// Field p of all bytes.
template <> struct UnpackPlanes<fmt::Q2_0> : PlainBlocks<PlaneVec, fmt::Q2_0, 1, 3> {
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        two_bit_planes<Vec>(c, load_sixteens(block_at(b, i).qs, sizeof(Block)));
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) { return {gather_d<2>(b)}; }
};

} // namespace
} // namespace ggufx::kernels::GGUFX_SET
