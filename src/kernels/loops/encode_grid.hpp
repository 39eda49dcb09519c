// Shared parts of the encoders with a codebook; same results as kernels/scalar: magnitudes and
// signs, and the nearest point of a list. Points of a list are in lanes, with a table of the error
// of each value at each level.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_lanes.hpp"
#include "kernels/loops/encode_pack.hpp"

#include <float.h>

namespace ggufx {
namespace kernels {
namespace {

// Bits of a level in a key, and the number of levels they can hold.
template <int Dims> constexpr int kLevelBits = Dims == 8 ? 2 : 3;
template <int Dims> constexpr int kLevelRoom = 1 << kLevelBits<Dims>;
template <int Dims> constexpr float kMostLevel = Dims == 8 ? 2.0f : 7.0f;

// Magnitudes of 16 or 32 values with one scale.
struct GridBlock {
    alignas(64) float xval[32], w[32], wx[32], root_w[32]; // wx = w * xval
    uint16_t keys[8];                                      // per group of Dims
    uint8_t signs[4];                                      // per 8 values
    float scale;
};

template <int Dims> GGUFX_INLINE int level_of(unsigned key, int i) {
    return static_cast<int>(key >> (kLevelBits<Dims> * i) & (kLevelRoom<Dims> - 1u));
}
GGUFX_INLINE bool on_grid(const GridLists &lists, unsigned key) {
    return lists.words[lists.slots[key]] == 0;
}
GGUFX_INLINE unsigned point_index(const GridLists &lists, unsigned key) {
    return lists.words[lists.slots[key] + 1];
}

// Values of [value][level] in a table of 32: index of the value and dequantized level.
template <int Dims> struct ErrorTable {
    static constexpr int kRoom = kLevelRoom<Dims>;
    alignas(64) int32_t value[32];
    alignas(64) float level[32];
    constexpr ErrorTable() : value(), level() {
        for (int i = 0; i < 32; i++) {
            value[i] = i / kRoom;
            level[i] = static_cast<float>(2 * (i % kRoom) + 1);
        }
    }
};
template <int Dims> constexpr ErrorTable<Dims> kErrorTable;

// to[value][level] = w * (scale * level - x)^2 for the Dims values of a group and the levels of a
// table.
template <class V, int Dims>
GGUFX_INLINE void level_errors(float *to, const float *x, const float *w, float scale,
                               const float *levels = kErrorTable<Dims>.level) {
    for (int i = 0; i < 32; i += V::kLanes) {
        const typename V::Vi value = V::load_i(kErrorTable<Dims>.value + i);
        const Lane<V> xi = V::template look_up<Dims>(x, value),
                      wi = V::template look_up<Dims>(w, value);
        const Lane<V> diff = Lane<V>(scale) * Lane<V>(V::load(levels + i)) - xi;
        V::store(to + i, (wi * diff * diff).v);
    }
}

// Returns the key of the listed point of least error, the first of equals.
template <class V, int Dims>
GGUFX_INLINE unsigned best_listed(const GridLists &lists, unsigned key, const float *errors) {
    constexpr int L = V::kLanes;
    const uint16_t *entry = lists.words + lists.slots[key];
    const int n = entry[0];
    Lane<V> least(FLT_MAX), at(-1.0f);
    for (int first = 0; first < n; first += L) { // words after the list are ignored
        const typename V::Vi points = V::widen_u16(entry + 1 + first);
        Lane<V> error;
#pragma GCC unroll 8
        for (int i = 0; i < Dims; i++) {
            const typename V::Vi level = V::shift_right_by(points, V::set1_i(kLevelBits<Dims> * i));
            error += V::template look_up<kLevelRoom<Dims>>(errors + kLevelRoom<Dims> * i, level);
        }
        Where<V> better = error < least;
        if (n - first < L) {
            const Lane<V> rest(static_cast<float>(n - first));
            better = better & (Lane<V>(V::load(kLaneNumbers)) < rest);
        }
        least = better.pick(error, least);
        at = better.pick(static_cast<float>(first), at);
    }
    const float most = -V::reduce_max(V::flip(least.v));
    if (!(most < FLT_MAX)) return entry[1];
    uint32_t found = V::bits((least <= Lane<V>(most)).m);
    if (n <= L) return entry[1 + __builtin_ctz(found)];
    alignas(64) float firsts[L];
    V::store(firsts, at.v);
    int best = INT32_MAX;
    for (; found; found &= found - 1) {
        const int lane = __builtin_ctz(found);
        const int position = static_cast<int>(firsts[lane]) + lane;
        best = position < best ? position : best;
    }
    return entry[1 + best];
}

struct GridSums {
    float qx = 0.0f, q2 = 0.0f;
};
template <int Dims> GridSums grid_sums(const GridBlock &b, int n) {
    GridSums sums;
    for (int i = 0; i < n; i++) {
        const float q = static_cast<float>(2 * level_of<Dims>(b.keys[i / Dims], i % Dims) + 1);
        sums.qx += b.wx[i] * q;
        sums.q2 += b.w[i] * q * q;
    }
    return sums;
}

// Stores a codebook index in group k.
template <class F> GGUFX_INLINE void put_index(typename F::Block &to, unsigned k, unsigned index) {
    fmt::write(to, F::index_low_at(k), static_cast<int>(index & 255u));
    if constexpr (requires { F::index_high_at(k); })
        fmt::write(to, F::index_high_at(k), static_cast<int>(index >> 8));
}

// ---- magnitudes and signs -----------------------------------------------------------------------

// Types with 7 sign bits store an even number of minus signs: the value with the least cost changes
// its sign.
GGUFX_INLINE uint8_t make_even(float *xval, const float *x, const float *w, unsigned signs) {
    if (__builtin_popcount(signs) % 2 == 0) return signs & 127u;
    int cheapest = 0;
    float least = w[0] * x[0] * x[0];
    for (int j = 1; j < 8; j++) {
        const float cost = w[j] * x[j] * x[j];
        if (cost < least) {
            least = cost;
            cheapest = j;
        }
    }
    xval[cheapest] = -xval[cheapest];
    return static_cast<uint8_t>((signs ^ 1u << cheapest) & 127u);
}

// Initializes a block. Weights: sigma2 + x^2 without an imatrix, else qw * sqrt(sigma2 + x^2).
// Returns the largest magnitude.
template <class V>
float start_block(GridBlock *b, const float *x, const float *qw, int n, float sigma2, bool even) {
    for (int i = 0; i < n; i += V::kLanes) {
        const Lane<V> v = V::load(x + i);
        const Where<V> positive = Lane<V>(0.0f) <= v;
        Lane<V> w = Lane<V>(sigma2) + v * v;
        if (qw) w = Lane<V>(V::load(qw + i)) * square_root(w);
        V::store(b->w + i, w.v);
        V::store(b->root_w + i, square_root(w).v);
        V::store(b->xval + i, positive.pick(v, -v).v);
        const uint32_t negative = ~V::bits(positive.m);
        for (unsigned k = 0; k < V::kLanes / 8; k++)
            b->signs[i / 8 + static_cast<int>(k)] = static_cast<uint8_t>(negative >> (8 * k));
    }
    for (int k = 0; even && k < n / 8; k++)
        b->signs[k] = make_even(b->xval + 8 * k, x + 8 * k, b->w + 8 * k, b->signs[k]);
    Lane<V> max = V::load(b->xval);
    for (int i = 0; i < n; i += V::kLanes) {
        const Lane<V> v = V::load(b->xval + i);
        V::store(b->wx + i, (Lane<V>(V::load(b->w + i)) * v).v);
        max = V::greater(v.v, max.v);
    }
    b->scale = 0.0f;
    return V::reduce_max(max.v);
}

inline void make_scale_positive(GridBlock *b, int n, bool even) {
    if (!(b->scale < 0.0f)) return;
    b->scale = -b->scale;
    for (int k = 0; k < n / 8; k++)
        b->signs[k] = static_cast<uint8_t>(~b->signs[k] & (even ? 127 : 255));
}

inline uint32_t scale_code(float id, float scale, int most) {
    const int code = nearest_int(0.5f * (id * scale - 1.0f));
    return static_cast<uint32_t>(code < 0 ? 0 : code > most ? most : code);
}

} // namespace
} // namespace kernels
} // namespace ggufx
