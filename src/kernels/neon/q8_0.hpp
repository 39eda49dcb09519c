// Q8_0 on NEON: signed codes as they stand; -128 is fine because |q| <= 127.
// SPDX-License-Identifier: MIT
#pragma once

#include "formats/q8_0.hpp"
#include "kernels/loops/unpack.hpp"
#include "kernels/neon/vec.hpp"

namespace ggufx {
namespace kernels {
namespace neon {
namespace {

template <> struct Unpack<fmt::Q8_0> : PlainBlocks<Vec, fmt::Q8_0, 0, 128> {
    static constexpr bool kSigned = true;
    static GGUFX_INLINE void load_u8(V8 (&c)[4], const Block *b, unsigned i) {
#pragma GCC unroll 4
        for (unsigned j = 0; j < 4; j++) {
            const uint8_t *qs = b[4 * i + j].qs;
            c[j] = codes32(vld1q_u8(qs), vld1q_u8(qs + 16));
        }
    }
    static GGUFX_INLINE Scales load_scales(const Block *b) {
        return {gather_d(b)};
    }
};

} // namespace
} // namespace neon
} // namespace kernels
} // namespace ggufx
