// Packs one column of activations (C1 and C5): per 32 values the integer maximum of the bits, f32
// scale, codes in one or two planes, sums. Codes are stored in the order of the set's load_u8
// (V::block_position).
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/common.hpp"

namespace ggufx::kernels {
namespace {

// V with activations of N planes; the loops of products are templates over it.
template <class V, unsigned N> struct Planes : V { static constexpr unsigned kPlanes = N; };

// Destinations of the codes of a block of 32 and of their two sums of 16.
template <class V> struct BlockCodes {
    int8_t *q[V::kPlanes];
    int16_t *s16[V::kPlanes];

    GGUFX_INLINE int32_t sum(unsigned group) const {
        if constexpr (V::kPlanes == 1)
            return s16[0][group];
        else
            return 128 * s16[0][group] + s16[1][group];
    }
};

struct BlockScale {
    float d, id; // id 0: the codes are zero
};

// u = the maximum of bits(x) & 0x7fffffff over the block.
template <unsigned N> GGUFX_INLINE BlockScale block_scale(uint32_t u) {
    if (u >= kActNotFinite) return {__builtin_nanf(""), 0.0f};
    if (u < kActTiny) return {0.0f, 0.0f};
    constexpr float kLimit = N == 1 ? 127.0f : 16256.0f;
    float amax;
    __builtin_memcpy(&amax, &u, sizeof amax);
    return {amax / kLimit, kLimit / amax};
}

// Stores the codes and the sum of group g, 16 values.
template <class V>
GGUFX_INLINE void quantize16(const BlockCodes<V> &to, unsigned g, const float *x, float id) {
    constexpr unsigned n = 16 / V::kLanes;
    typename V::Vi q[V::kPlanes][n];
#pragma GCC unroll 2
    for (unsigned i = 0; i < n; i++) {
        const auto whole = V::nearest(x + i * V::kLanes, id);
        q[0][i] = whole;
        if constexpr (V::kPlanes == 2) {
            q[0][i] = V::template shift_right<7>(V::add_i(whole, V::set1_i(64)));
            q[1][i] = V::sub_i(whole, V::template shift_left<7>(q[0][i]));
        }
    }
#pragma GCC unroll 2
    for (unsigned p = 0; p < V::kPlanes; p++) {
        to.s16[p][g] = static_cast<int16_t>(V::store_group(to.q[p] + 16 * g, q[p]));
    }
}

// Stores the codes of 32 values and their sums; returns d_a.
template <class V> GGUFX_INLINE float pack_codes(const BlockCodes<V> &to, const float *x) {
    const BlockScale scale = block_scale<V::kPlanes>(V::max_bits32(x));
    if (scale.id == 0.0f) { // Inf * 0 is not a code
        for (unsigned p = 0; p < V::kPlanes; p++) {
            __builtin_memset(to.q[p], 0, 32);
            to.s16[p][0] = to.s16[p][1] = 0;
        }
    } else {
        quantize16(to, 0, x, scale.id);
        quantize16(to, 1, x + 16, scale.id);
    }
    return scale.d;
}

// Padding after the values; its codes are zeros.
constexpr float kZeros[32] = {};

template <class V> void pack_act(const Act &act, const float *x) {
    const size_t n_blocks = act.k / 32, n_padded = (act.k + kActPad - 1) / kActPad * (kActPad / 32);
    const BlockCodes<V> column = [&act] {
        BlockCodes<V> planes;
        for (unsigned p = 0; p < V::kPlanes; p++) {
            planes.q[p] = plane_codes(act, p);
            planes.s16[p] = plane_sums(act, p);
        }
        return planes;
    }();
    for (size_t b = 0; b < n_padded; b++) {
        BlockCodes<V> to = column;
        for (unsigned p = 0; p < V::kPlanes; p++) {
            to.q[p] += V::block_position(b);
            to.s16[p] += 2 * b;
        }
        act.d[b] = pack_codes(to, b < n_blocks ? x + 32 * b : kZeros);
        act.s[b] = act.d[b] * static_cast<float>(to.sum(0) + to.sum(1));
    }
}

// The same with the codes in planes (V::to_planes).
template <class V> void pack_planes(const Act &act, const float *x) {
    pack_act<V>(act, x);
    const size_t n_padded = (act.k + kActPad - 1) / kActPad * kActPad;
    for (unsigned p = 0; p < V::kPlanes; p++) V::to_planes(plane_codes(act, p), n_padded);
}

// The same with blocks in the order of V's lanes (V::to_lanes).
template <class V> void pack_lanes(const Act &act, const float *x) {
    pack_act<V>(act, x);
    V::to_lanes(act);
}

} // namespace
} // namespace ggufx::kernels
