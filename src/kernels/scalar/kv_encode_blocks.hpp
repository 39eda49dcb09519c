// KV cache encoders of Q8_0, Q5_1, Q5_0, Q4_1, Q4_0 and IQ4_NL, one vector at a time. Blocks of 32
// as in the encoders of GGUF files. IQ4_NL uses one least-squares step, since the search of that
// encoder takes 28 us per head of 128.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/round.hpp"
#include "kernels/kv_encode.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

// A vector with its codes, scales and minimums.
struct KvVector {
    float x[kKvMaxCodes];
    uint8_t code[kKvMaxCodes];
    uint16_t scale[kKvMaxCodes / kKvStrip], min[kKvMaxCodes / kKvStrip];
};

// Returns the f16 of a scale or minimum. Values out of range become the largest f16, NaN the
// lowest.
inline uint16_t kv_half(float v) {
    if (!(v > -kKvLargestHalf)) return 0xfbff;
    return v < kKvLargestHalf ? f32_to_f16(v) : uint16_t{0x7bff};
}

inline void encode_q8_0_block(uint8_t *code, uint16_t *scale, uint16_t *, const float *x) {
    const float d = rounding::largest_magnitude(x, int{kKvStrip}) / 127.0f,
                id = rounding::inverse(d);
    *scale = kv_half(d);
    for (uint32_t i = 0; i < kKvStrip; i++)
        code[i] = rounding::low8(rounding::round_away(x[i] * id)) ^ 0x80u;
}

// Codes 0 .. 2 * Half - 1 on both sides of zero.
template <int Half>
void encode_signed_block(uint8_t *code, uint16_t *scale, uint16_t *, const float *x) {
    const float d = rounding::signed_largest(x, int{kKvStrip}) / rounding::to_f32(-Half);
    const float id = rounding::inverse(d), shift = rounding::to_f32(Half) + 0.5f;
    *scale = kv_half(d);
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const int8_t wrapped = rounding::wrap8(rounding::to_int(x[i] * id + shift));
        code[i] = rounding::low8(rounding::at_most(wrapped, 2 * Half - 1)) & (2 * Half - 1);
    }
}

// Codes 0 .. Most above a minimum; those of 4 bits are clamped, those of 5 bits wrap.
template <int Most>
void encode_line_block(uint8_t *code, uint16_t *scale, uint16_t *min, const float *x) {
    float least = kMostFloat, most = -kMostFloat;
    for (uint32_t i = 0; i < kKvStrip; i++) {
        if (x[i] < least) least = x[i];
        if (x[i] > most) most = x[i];
    }
    const float d = (most - least) / rounding::to_f32(Most), id = rounding::inverse(d);
    *scale = kv_half(d);
    *min = kv_half(least);
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const int32_t q = rounding::to_int((x[i] - least) * id + 0.5f);
        const int32_t limited = Most == 15 ? rounding::at_most(rounding::wrap8(q), Most) : q;
        code[i] = rounding::low8(limited) & Most;
    }
}

// Returns the code of the nearest level; ties go up.
inline uint8_t nearest_iq4(float v) {
    const int8_t *const level = kv_format(KvKind::iq4_nl).table;
    uint32_t code = 0;
    for (uint32_t c = 1; c < 16; c++)
        code += v >= static_cast<float>(level[c - 1] + level[c]) * 0.5f ? 1 : 0;
    return static_cast<uint8_t>(code);
}

// Chooses codes with the value of largest magnitude at -127, then fits the scale by least squares
// with weights x^2. Sums are in order.
inline void encode_iq4_nl_block(uint8_t *code, uint16_t *scale, uint16_t *, const float *x) {
    const float d = rounding::signed_largest(x, int{kKvStrip}) / -127.0f, id = rounding::inverse(d);
    const bool usable = rounding::magnitude(id) <= 0x1p100f; // smaller scales are 0 in f16
    float qx = 0.0f, q2 = 0.0f;
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const float y = usable ? x[i] * id : 0.0f;
        code[i] = nearest_iq4(y);
        const float q = static_cast<float>(kv_format(KvKind::iq4_nl).table[code[i]]), w = y * y;
        qx += w * q * y;
        q2 += w * q * q;
    }
    *scale = kv_half(q2 > 0.0f ? d * (qx / q2) : 0.0f);
}

using BlockFn = void(uint8_t *code, uint16_t *scale, uint16_t *min, const float *x);

template <BlockFn *Block> void encode_blocks(KvVector &v, uint32_t n, KvStream) {
    for (uint32_t b = 0; b * kKvStrip < n; b++)
        Block(v.code + b * kKvStrip, v.scale + b, v.min + b, v.x + b * kKvStrip);
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
