// IQ4_NL on NEON: a table instruction looks the signed codes up.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/iq4_nl.hpp"
#include "kernels/neon/q4_0.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

// The values of 32 codes 0..15.
GGUFX_INLINE Vec::V8 look_up(int8x16_t values, Vec::V8 codes) {
    return {vqtbl1q_s8(values, vreinterpretq_u8_s8(codes.lo)),
            vqtbl1q_s8(values, vreinterpretq_u8_s8(codes.hi))};
}

template <> struct Unpack<fmt::IQ4_NL> : PlainBlocks<Vec, fmt::IQ4_NL, 0, 128> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
        const int8x16_t values = vld1q_s8(fmt::kCodesIq4);
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) c[j] = look_up(values, nibbles(b[4 * i + j].qs));
    }
    static GGUFX_INLINE V8 codes_of_nibbles(V8 v) { return look_up(vld1q_s8(fmt::kCodesIq4), v); }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
