// KV cache encoders of GX4, GX3, GX2, one vector at a time. One f16 scale per head and a chain of
// codes through a 4-state trellis. Searches the scale with the levels of a plain quantizer, finds
// the chain by dynamic programming, and refits the scale. Sums are f32 in the order of the
// coordinates.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/kv_encode_blocks.hpp"

#include <string.h>

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

// Returns the level nearest to a magnitude; ties go down.
template <uint32_t Bits> float plain_level(float magnitude) {
    const float *const levels = kGxLevels[Bits - 2];
    float level = levels[0];
    for (uint32_t k = 1; k < 1u << (Bits - 1); k++)
        level = magnitude > (levels[k - 1] + levels[k]) * 0.5f ? levels[k] : level;
    return level;
}

// Returns the best of eight start scales after a least-squares fit.
template <uint32_t Bits> float search_scale(const float *x, uint32_t n, float rms) {
    float best_gain = -1.0f, best = rms;
    for (uint32_t s = 0; s < kGxStarts; s++) {
        const float scale = rms * gx_start(s), inverse = 1.0f / scale;
        float xc = 0.0f, cc = 0.0f;
        for (uint32_t i = 0; i < n; i++) {
            const float magnitude = rounding::magnitude(x[i] * inverse);
            const float level = plain_level<Bits>(magnitude);
            xc += magnitude * level;
            cc += level * level;
        }
        const float fitted = scale * (xc / cc), gain = fitted * (xc * scale);
        if (!(gain > best_gain)) continue;
        best_gain = gain;
        best = fitted;
    }
    return best;
}

// Returns the index in a subset of the level nearest to target; ties go down.
inline uint32_t nearest_of(const GxSubset &to, float target) {
    uint32_t at = 0;
    while (at + 1 < to.n && target > to.middle[at]) at++;
    return at;
}

struct GxTrellis {
    GxSubset to[4];
    float step[4];
};
constexpr GxTrellis gx_trellis(const KvFormat &f) {
    GxTrellis t{};
    for (uint32_t s = 0; s < 4; s++) {
        t.to[s] = gx_subset(f, s);
        t.step[s] = static_cast<float>(f.step[s]);
    }
    return t;
}

// Advances the trellis by one value. cost[s]: least error of all chains so far that end in state s;
// from[s]: the previous state. Ties go to the lower previous state.
inline void advance(float cost[4], uint8_t from[4], float y, const GxTrellis &trellis) {
    float next[4] = {};
    for (uint32_t before = 0; before < 4; before++) {
        const float target = y - trellis.step[before];
        for (uint32_t s = 0; s < 4; s++) {
            const float error = target - trellis.to[s].level[nearest_of(trellis.to[s], target)];
            const float total = cost[before] + error * error;
            if (before != 0 && !(total < next[s])) continue;
            next[s] = total;
            from[s] = static_cast<uint8_t>(before);
        }
    }
    for (uint32_t s = 0; s < 4; s++) cost[s] = next[s];
}

// Finds the codes of y = x * inverse: forward over the chain, then back from the best last state.
inline void find_codes(KvVector &v, float inverse, const GxTrellis &trellis, uint32_t n,
                       KvStream stream) {
    uint8_t from[kKvMaxCodes][4];
    float cost[4] = {0.0f, kGxNever, kGxNever, kGxNever};
    for (uint32_t j = 0; j < n; j++)
        advance(cost, from[j], v.x[gx_chain(stream, n, j)] * inverse, trellis);
    uint32_t state = 0;
    for (uint32_t s = 1; s < 4; s++)
        if (cost[s] < cost[state]) state = s;
    for (uint32_t j = n; j-- > 0;) {
        const uint32_t before = from[j][state], at = gx_chain(stream, n, j);
        const GxSubset &to = trellis.to[state];
        v.code[at] = to.code[nearest_of(to, v.x[at] * inverse - trellis.step[before])];
        state = before;
    }
}

// Returns the least-squares scale of the values for their integers; never negative.
inline uint16_t fitted_scale(const KvVector &v, float inverse, float scale, const KvFormat &f,
                             uint32_t n, KvStream stream) {
    int32_t values[kKvMaxCodes];
    kv_values(values, v.code, stream, f, n);
    float yc = 0.0f;
    int32_t cc = 0; // at most 1024 * 127^2, which f32 holds exactly
    for (uint32_t i = 0; i < n; i++) {
        yc += v.x[i] * inverse * static_cast<float>(values[i]);
        cc += values[i] * values[i];
    }
    const float fitted = cc > 0 ? scale * (yc / static_cast<float>(cc)) : 0.0f;
    if (!(fitted > 0.0f)) return 0;
    return fitted < kKvLargestHalf ? f32_to_f16(fitted) : uint16_t{0x7bff};
}

template <KvKind Kind> void encode_gx(KvVector &v, uint32_t n, KvStream stream) {
    static constexpr KvFormat f = kv_format(Kind);
    static constexpr GxTrellis trellis = gx_trellis(f);
    float sum = 0.0f;
    for (uint32_t i = 0; i < n; i++) sum += v.x[i] * v.x[i];
    const float rms = __builtin_sqrtf(sum / static_cast<float>(n));
    if (!(rms >= kGxTinyRms)) {
        memset(v.code, 0, n);
        v.scale[0] = 0;
        return;
    }
    const float scale = search_scale<f.bits>(v.x, n, rms);
    const float inverse = 1.0f / (scale * f.unit);
    find_codes(v, inverse, trellis, n, stream);
    v.scale[0] = fitted_scale(v, inverse, scale, f, n, stream);
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
