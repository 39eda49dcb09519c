// Q1_0 on NEON: bits spread to bytes, -1 or 1.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q1_0.hpp"
#include "kernels/neon/q5_0.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q1_0> : PlainBlocks<Vec, fmt::Q1_0, 0, 16> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const uint8x16_t one = vdupq_n_u8(1);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            uint8x16_t lo, hi;
            spread_bits(lo, hi, load_u32le(b[i].qs + 4 * j));
            c[j] = codes32(vornq_u8(one, lo), vornq_u8(one, hi)); // a clear bit: 0xff
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {f16_to_f32(
            vcombine_u16(vdup_n_u16(load_u16le(b[0].d)), vdup_n_u16(load_u16le(b[1].d))))};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
