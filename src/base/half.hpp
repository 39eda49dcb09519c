// Small float formats: f16, bf16, E8M0 and UE4M3, to and from f32, by integer arithmetic.
// No result depends on rounding mode, FTZ or DAZ; golden vectors conv_*.bin cover every bit.
// Internal linkage on purpose: kernels of every instruction set include this (src/README.md).
// SPDX-License-Identifier: MIT
#pragma once

#include "base/bytes.hpp"

#include <stdint.h>

namespace ggufx {
namespace {

// Exact. A signaling NaN becomes quiet and keeps its payload.
inline float f16_to_f32(uint16_t h) {
    const uint32_t sign = (h & 0x8000u) << 16;
    const uint32_t magnitude = h & 0x7fffu; // exponent and mantissa
    if (magnitude > 0x7c00u) return f32_from_bits(sign | 0x7fc00000u | (magnitude & 0x3ffu) << 13);
    if (magnitude == 0x7c00u) return f32_from_bits(sign | 0x7f800000u);
    if (magnitude >= 0x400u) return f32_from_bits(sign | ((magnitude << 13) + (112u << 23)));
    // Subnormal: magnitude * 2^-24, a normal f32 (or zero).
    const float value = static_cast<float>(static_cast<int32_t>(magnitude)) * 0x1p-24f;
    return f32_from_bits(sign | f32_bits(value));
}

// Rounds to nearest even with gradual underflow; >= 65520 becomes Inf; NaN becomes sign|0x7E00.
inline uint16_t f32_to_f16(float f) {
    const uint32_t u = f32_bits(f);
    const uint32_t sign = (u >> 16) & 0x8000u;
    const uint32_t a = u & 0x7fffffffu;
    if (a > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
    if (a >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u); // 65520
    if (a >= 0x38800000u) {                                             // 2^-14: normal f16
        const uint32_t r = (a + 0xfffu + ((a >> 13) & 1u)) >> 13;
        return static_cast<uint16_t>(sign | (r - (112u << 10)));
    }
    if (a < 0x33000000u) return static_cast<uint16_t>(sign); // below 2^-25, half a step
    const uint32_t shift = 126u - (a >> 23);                 // 14..24: steps of 2^-24
    const uint32_t mantissa = (a & 0x7fffffu) | 0x800000u;
    const uint32_t rest = mantissa & ((1u << shift) - 1u), half = 1u << (shift - 1u);
    uint32_t r = mantissa >> shift;
    if (rest > half || (rest == half && (r & 1u))) r++;
    return static_cast<uint16_t>(sign | r);
}

inline float bf16_to_f32(uint16_t b) {
    return f32_from_bits(static_cast<uint32_t>(b) << 16);
}

// Rounds to nearest even, subnormals kept; NaN keeps its upper bits and becomes quiet.
inline uint16_t f32_to_bf16(float f) {
    const uint32_t u = f32_bits(f);
    if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40u);
    return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
}

// 2^(e-127); e = 0 is the subnormal 2^-127, e = 255 gives Inf's bits (ggml does the same).
inline float e8m0_to_f32(uint8_t e) {
    return f32_from_bits(e == 0 ? 0x00400000u : static_cast<uint32_t>(e) << 23);
}

// 2^(e-128), the scale of MXFP4 whose codebook is doubled; e = 0 and 1 are subnormal.
inline float e8m0_half_to_f32(uint8_t e) {
    return f32_from_bits(e < 2 ? 0x00200000u << e : static_cast<uint32_t>(e - 1) << 23);
}

// Half the value of an unsigned E4M3 byte, the scale of NVFP4. Bytes 0 and 0x7F are zero and bit 7
// is otherwise ignored, so 0xFF is 240 (as in ggml: golden vectors deq/nvfp4).
inline float ue4m3_half_to_f32(uint8_t u) {
    if (u == 0 || u == 0x7f) return 0.0f;
    const int32_t exponent = (u >> 3) & 15, mantissa = u & 7;
    if (exponent == 0) return static_cast<float>(mantissa) * 0x1p-10f;
    const float power = f32_from_bits(static_cast<uint32_t>(exponent - 11 + 127) << 23);
    return static_cast<float>(8 + mantissa) * power; // (1 + m/8) * 2^(e-7) / 2
}

// Rounds half up on the first dropped bit alone, as ggml does; NaN and x <= 0 give 0, 448 is the
// largest value.
inline uint8_t f32_to_ue4m3(float x) {
    if (!(x > 0.0f)) return 0;
    if (x > 448.0f) x = 448.0f;
    const uint32_t u = f32_bits(x);
    int32_t exponent = static_cast<int32_t>(u >> 23) - 127 + 7;
    if (exponent <= 0) {
        const int32_t m = static_cast<int32_t>(x * 512.0f + 0.5f);
        return static_cast<uint8_t>(m > 7 ? 7 : m);
    }
    uint32_t mantissa = ((u >> 20) & 7u) + ((u >> 19) & 1u);
    if (mantissa == 8) {
        mantissa = 0;
        exponent++;
    }
    if (exponent >= 15) return 0x7e;
    return static_cast<uint8_t>(static_cast<uint32_t>(exponent) << 3 | mantissa);
}

} // namespace
} // namespace ggufx
