// C1, one column of int8 activations: per 32 values the integer maximum of the bits, f32 scale,
// codes, sums. Codes are stored where the set's load_u8 wants them (V::block_position).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

namespace ggufx {
namespace kernels {
namespace {

struct BlockScale {
    float d, id; // id 0: the codes are zero
};

// u = the largest bits(x) & 0x7fffffff of the block.
GGUFX_INLINE BlockScale block_scale(uint32_t u) {
    if (u >= kActNotFinite) return {__builtin_nanf(""), 0.0f};
    if (u < kActTiny) return {0.0f, 0.0f};
    float amax;
    __builtin_memcpy(&amax, &u, sizeof amax);
    return {amax / 127.0f, 127.0f / amax};
}

// Codes of 32 values to q, their two sums of 16 to s16; returns d_a.
template <class V> GGUFX_INLINE float pack_codes(int8_t *q, int16_t *s16, const float *x) {
    const BlockScale scale = block_scale(V::max_bits32(x));
    if (scale.id == 0.0f) { // Inf * 0 is no code
        __builtin_memset(q, 0, 32);
        s16[0] = s16[1] = 0;
    } else {
        V::quantize32(q, s16, x, scale.id);
    }
    return scale.d;
}

template <class V> void pack_act(const Act &act, const float *x) {
    const size_t n_blocks = act.k / 32, n_padded = (act.k + kActPad - 1) / kActPad * (kActPad / 32);
    for (size_t b = 0; b < n_blocks; b++) {
        int16_t *s16 = act.s16 + 2 * b;
        act.d[b] = pack_codes<V>(act.q + V::block_position(b), s16, x + 32 * b);
        act.s[b] = act.d[b] * static_cast<float>(s16[0] + s16[1]);
    }
    for (size_t b = n_blocks; b < n_padded; b++) {
        __builtin_memset(act.q + V::block_position(b), 0, 32);
        act.d[b] = act.s[b] = 0.0f;
        act.s16[2 * b] = act.s16[2 * b + 1] = 0;
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
