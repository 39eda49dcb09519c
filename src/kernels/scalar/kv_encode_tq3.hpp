// KV cache encoder of TQ3_0, one vector at a time. 2-bit codes, the sign of the residual as third
// bit, one scale per 32, as published; or with scale search.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/kv_encode_blocks.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

inline uint32_t tq3_code(float u) {
    if (u < 0.0f) return u < -kTq3Threshold ? 0 : 1;
    return u < kTq3Threshold ? 2 : 3;
}

// Chooses codes with the unrounded scale; the third bit is set if the value is not below its level.
inline void put_tq3_codes(uint8_t *code, uint16_t *scale, const float *r, float d) {
    const float id = d > 0.0f ? 1.0f / d : 0.0f;
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const uint32_t low = tq3_code(r[i] * id);
        const float product = d * kTq3Levels[low], rest = r[i] - product;
        code[i] = static_cast<uint8_t>(low | (rest >= 0.0f ? 4u : 0u));
    }
    *scale = d < kKvLargestHalf ? f32_to_f16(d) : uint16_t{0x7bff};
}

inline void encode_tq3_block(uint8_t *code, uint16_t *scale, uint16_t *, const float *r) {
    put_tq3_codes(code, scale, r, rounding::largest_magnitude(r, int{kKvStrip}) / kTq3Outer);
}

// Gain (sum r c)^2 / sum c^2 and scale of a least-squares fit with the codes of scale d.
struct Tq3Fit {
    float gain, d;
};
inline Tq3Fit fit_tq3(const float *r, float d) {
    const float id = 1.0f / d;
    float rc = 0.0f, cc = 0.0f;
    for (uint32_t i = 0; i < kKvStrip; i++) {
        const float y = r[i] * id, level = kTq3Levels[tq3_code(y)];
        rc += y * level;
        cc += level * level;
    }
    const float best = d * (rc / cc);
    return {best * (rc * d), best};
}

// Tries scales of 0.35 to 1 times the published one in steps of 0.05, each refitted once.
inline void encode_tq3_block_fitted(uint8_t *code, uint16_t *scale, uint16_t *, const float *r) {
    const float outer = rounding::largest_magnitude(r, int{kKvStrip}) / kTq3Outer;
    Tq3Fit best = {0.0f, outer};
    for (uint32_t i = kTq3FirstFit; i <= kTq3LastFit && outer >= 0x1p-60f; i++) {
        const Tq3Fit f = fit_tq3(r, outer * (static_cast<float>(i) * 0.05f));
        if (f.gain > best.gain) best = f;
    }
    put_tq3_codes(code, scale, r, best.d);
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
