// Encoders that round to nearest: scales from the extremes of blocks, reduced to a block per lane,
// then codes along the row.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_lanes.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr int kBlock = 32;

// Returns whether all of x[n] is finite.
template <class V> bool all_finite(const float *x, size_t n) {
    constexpr size_t L = V::kLanes;
    const typename V::Vi magnitude_bits = V::set1_i(INT32_MAX);
    typename V::Vi a = V::zero_i(), b = a;
    size_t i = 0;
    for (; i + 2 * L <= n; i += 2 * L) {
        a = V::max_bits(a, V::and_i(V::load_i(x + i), magnitude_bits));
        b = V::max_bits(b, V::and_i(V::load_i(x + i + L), magnitude_bits));
    }
    alignas(64) uint32_t most[L];
    V::store_i(most, V::max_bits(a, b));
    uint32_t all = 0;
    for (const uint32_t bits : most) all = bits > all ? bits : all;
    for (; i < n; i++) {
        const uint32_t bits = f32_bits(x[i]) & 0x7fffffffu;
        all = bits > all ? bits : all;
    }
    return all < 0x7f800000u;
}

// Returns the largest magnitudes of blocks of Values values each.
template <class V, int Values> GGUFX_INLINE Lane<V> largest_of_blocks(const Places<V, Values> &at) {
    using Vf = typename V::Vf;
    Vf most[V::kLanes];
#pragma GCC unroll 16
    for (int j = 0; j < static_cast<int>(V::kLanes); j++) {
        const float *x = at.values(j);
        most[j] = V::absolute(V::load(x));
        for (int i = V::kLanes; i < Values; i += V::kLanes)
            most[j] = V::greater(V::absolute(V::load(x + i)), most[j]);
    }
    return V::fold(most, [](Vf a, Vf b) { return V::greater(a, b); });
}

// Least and greatest value of each block of `at`; the sign of a zero is unspecified.
template <class V> struct Range { Lane<V> least, most; };
template <class V> GGUFX_INLINE Range<V> range_of_blocks(const Places<V, kBlock> &at) {
    using Vf = typename V::Vf;
    Vf least[V::kLanes], most[V::kLanes];
#pragma GCC unroll 16
    for (int j = 0; j < static_cast<int>(V::kLanes); j++) {
        const float *x = at.values(j);
        least[j] = most[j] = V::load(x);
        for (int i = V::kLanes; i < kBlock; i += V::kLanes) {
            const Vf v = V::load(x + i);
            least[j] = V::lesser(v, least[j]);
            most[j] = V::greater(v, most[j]);
        }
    }
    return {V::fold(least, [](Vf a, Vf b) { return V::lesser(a, b); }),
            V::fold(most, [](Vf a, Vf b) { return V::greater(a, b); })};
}

inline float magnitude1(float v) {
    return f32_from_bits(f32_bits(v) & 0x7fffffffu);
}
// Returns x[i] with the first i whose magnitude is `most`; +0 if `most` is 0.
template <class V> GGUFX_INLINE float first_of_magnitude(const float *x, float most) {
    for (int i = 0; most != 0.0f; i += V::kLanes) {
        const uint32_t there = V::bits((Lane<V>(most) <= magnitude(Lane<V>(V::load(x + i)))).m);
        if (there) return x[i + __builtin_ctz(there)];
    }
    return 0.0f;
}
// Returns the values of largest magnitude with their signs, the first of equals; +0 if all are
// zero.
template <class V> GGUFX_INLINE Lane<V> signed_largest_of_blocks(const Places<V, kBlock> &at) {
    const Range<V> range = range_of_blocks(at);
    const Lane<V> below = -range.least;
    const Lane<V> value = (below < range.most).pick(range.most, range.least);
    uint32_t open = V::bits(((below <= range.most) & (range.most <= below)).m);
    if (!open) return value;
    alignas(64) float values[V::kLanes];
    V::store(values, value.v);
    for (; open; open &= open - 1) {
        const int b = __builtin_ctz(open);
        values[b] = first_of_magnitude<V>(at.values(b), magnitude1(values[b]));
    }
    return V::load(values);
}
// Fixes the sign of zeros: a zero that is the least value is the first zero of its block.
template <class V> GGUFX_INLINE Range<V> exact_range_of_blocks(const Places<V, kBlock> &at) {
    Range<V> range = range_of_blocks(at);
    const Lane<V> zero(0.0f);
    uint32_t open = V::bits(((range.least <= zero) & (zero <= range.least)).m);
    if (!open) return range;
    alignas(64) float least[V::kLanes];
    V::store(least, range.least.v);
    for (; open; open &= open - 1) {
        const int b = __builtin_ctz(open);
        const float *x = at.values(b);
        while (*x != 0.0f) x++;
        least[b] = *x;
    }
    return {V::load(least), range.most + zero}; // +0 - -0 and +0 - +0 are +0, as is x - x
}

// Codes of a block, along the row.
template <class V> struct RowCodes {
    static constexpr int kVectors = kBlock / static_cast<int>(V::kLanes);
    typename V::Vi v[kVectors];

    // (x - min) * id + shift, truncated, at most `most`. kernels/scalar first wraps codes to int8
    // or uint8. Codes for a finite id never exceed `most` + 1; all others are INT32_MIN, whose low
    // bits are 0.
    GGUFX_INLINE RowCodes(const float *x, float min, float id, float shift, int most) {
#pragma GCC unroll 4
        for (int i = 0; i < kVectors; i++) {
            const Lane<V> above = Lane<V>(V::load(x + i * V::kLanes)) - Lane<V>(min);
            const Lane<V> code = above * Lane<V>(id) + Lane<V>(shift);
            v[i] = V::min_i(V::to_int(code.v), V::set1_i(most));
        }
    }
    GGUFX_INLINE void store_nibbles(uint8_t *to) const { // values i and i + 16
#pragma GCC unroll 2
        for (int i = 0; i < kVectors / 2; i++) {
            const typename V::Vi high = V::template shift_left<4>(v[i + kVectors / 2]);
            const typename V::Vi both = V::replace(v[i], V::set1_i(15), high);
            V::store_bytes(to + i * V::kLanes, V::and_i(both, V::set1_i(255)));
        }
    }
    GGUFX_INLINE void store_fifth_bits(uint8_t *to) const { // codes are below 32
        uint32_t bits = 0;
#pragma GCC unroll 4
        for (int i = 0; i < kVectors; i++) {
            const Where<V> set = Lane<V>(16.0f) <= Lane<V>(V::to_float(v[i]));
            bits |= V::bits(set.m) << (i * V::kLanes);
        }
        store_u32le(to, bits);
    }
};

} // namespace
} // namespace kernels
} // namespace ggufx
