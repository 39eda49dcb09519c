// Shared parts of the IQ1_S and IQ1_M encoders; same results as kernels/scalar. Partitions (cuts)
// of the sorted values are in lanes. A cut is compared with the best one only if its lane is better
// than the last accepted one, in the order of kernels/scalar.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_grid.hpp"
#include "kernels/loops/encode_k.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr float kUp[4] = {-0.875f, 0.125f, 1.125f}, kDown[4] = {-1.125f, -0.125f, 0.875f};

// Ranks of the values in ascending order (stable), and the inverse permutation.
struct Ranks {
    alignas(64) int32_t rank[32];
    uint8_t order[32];
};

// Value i ranks after all smaller values and all equal values before it.
template <class V>
__attribute__((noinline)) void rank_equal_values(int32_t *rank, const float *x, int n) {
    for (int i = 0; i < n; i++) {
        rank[i] = 0;
        for (int j = 0; j < n; j++) rank[i] += x[j] < x[i] || (j < i && x[j] <= x[i]);
    }
}

template <class V> GGUFX_INLINE void rank_values(Ranks *to, const float *x, int n) {
    int32_t sum = 0;
    for (int i = 0; i < n; i += V::kLanes) {
        const Lane<V> v = V::load(x + i);
        typename V::Vi rank = V::set1_i(0);
        for (int j = 0; j < n; j++) rank = V::count((Lane<V>(x[j]) < v).m, rank);
        V::store_i(to->rank + i, rank);
        sum += V::reduce_add(rank);
    }
    if (sum != n * (n - 1) / 2) rank_equal_values<V>(to->rank, x, n);
    for (int i = 0; i < n; i++) to->order[to->rank[i]] = static_cast<uint8_t>(i);
}

// The best cut so far: values before `first` get level 0, before `second` 1, the others 2.
struct BestCut {
    float score = -FLT_MAX, scale = 0.0f;
    int first = 0, second = 0, shifts = -1; // -1: none
    GGUFX_INLINE void offer(float qx, float q2, int f, int s, int how) {
        if (!(q2 > 0.0f && qx * qx > score * q2)) return;
        scale = qx / q2;
        score = scale * qx;
        first = f, second = s, shifts = how;
    }
};

template <class V> GGUFX_INLINE uint32_t better_lanes(Lane<V> qx, Lane<V> q2, float score) {
    const Where<V> better = (Lane<V>(0.0f) < q2) & (Lane<V>(score) * q2 < qx * qx);
    return V::bits(better.m);
}

struct CutFit {
    float scale;
    int shifts; // IQ1_S: 1 = down; IQ1_M: bit 1 = first half down, bit 0 = second
    uint8_t levels[32];
    // Returns false if nothing fits.
    template <class V>
    GGUFX_INLINE bool take(const BestCut &best, const int32_t *rank, int n, int all_shifts) {
        if (best.shifts < 0) return false;
        scale = best.scale;
        shifts = best.shifts;
        const bool mirrored = scale < 0.0f;
        for (int i = 0; i < n; i += V::kLanes) {
            const typename V::Vi at = V::load_i(rank + i);
            const Lane<V> high =
                V::select_less(at, best.second, V::set1(1.0f), V::set1(mirrored ? 0.0f : 2.0f));
            const Lane<V> level =
                V::select_less(at, best.first, V::set1(mirrored ? 2.0f : 0.0f), high.v);
            V::store_bytes(levels + i, V::to_int(level.v));
        }
        if (mirrored) {
            scale = -scale;
            shifts = all_shifts - shifts;
        }
        return true;
    }
};

// The levels in the layout of a table of errors.
struct CutTable {
    alignas(64) float up[32], down[32];
    constexpr CutTable() : up(), down() {
        for (int i = 0; i < 32; i++) up[i] = kUp[i % 4], down[i] = kDown[i % 4];
    }
};
constexpr CutTable kCutTable;

GGUFX_INLINE unsigned key_of(const uint8_t *levels) {
    unsigned key = 0;
    for (int i = 0; i < 8; i++) key |= static_cast<unsigned>(levels[i]) << (2 * i);
    return key;
}

// Replaces levels off the grid by the nearest listed point; returns true if it did.
template <class V>
bool move_to_grid(uint8_t *levels, const GridLists &lists, const float *x, const float *w,
                  float scale, const float *values) {
    const unsigned key = key_of(levels);
    if (on_grid(lists, key)) return false;
    alignas(64) float errors[32];
    level_errors<V, 8>(errors, x, w, scale, values == kDown ? kCutTable.down : kCutTable.up);
    const unsigned best = best_listed<V, 8>(lists, key, errors);
    for (int i = 0; i < 8; i++) levels[i] = static_cast<uint8_t>(level_of<8>(best, i));
    return true;
}

GGUFX_INLINE void add_group(GridSums *sums, const uint8_t *levels, const float *x, const float *w,
                            const float *values, float factor) {
    for (int i = 0; i < 8; i++) {
        const float q = values[levels[i]] * factor;
        sums->qx += w[i] * q * x[i];
        sums->q2 += w[i] * q * q;
    }
}

template <class V>
GGUFX_INLINE void cut_weights(float *w, const float *x, const float *qw, int n, float sigma2) {
    for (int i = 0; i < n; i += V::kLanes) {
        const Lane<V> v = V::load(x + i);
        Lane<V> weight = v * v;
        if (qw) weight = Lane<V>(V::load(qw + i)) * square_root(Lane<V>(sigma2) + weight);
        V::store(w + i, weight.v);
    }
}

inline float largest1(const float *x, int n) {
    const float v = signed_largest1(x, n);
    return v < 0.0f ? -v : v;
}

// block: encode_iq1_s_block or encode_iq1_m_block.
template <class V, class F, class Block>
GGUFX_INLINE void encode_iq1(const EncodeJob &job, Block block) {
    for (size_t first = 0; first < job.n_blocks; first += V::kLanes) {
        const Places<V, 256> at(job, first);
        alignas(64) float sums[V::kLanes];
        sums_of_squares<V>(sums, at);
        for (int b = 0; b < at.n; b++)
            block(block_of<F>(job, at.block(b)), at.values(b),
                  job.imatrix ? at.weights(b) : nullptr, sums[b], *job.grid);
    }
}

} // namespace
} // namespace kernels
} // namespace ggufx
