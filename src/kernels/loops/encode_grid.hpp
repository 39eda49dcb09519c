// The search of the IQ2 and IQ3 types as src/quant/grid.hpp has it. Candidates of the scale stand in
// lanes while levels are made and errors summed; the points of a list stand in lanes while the
// nearest is looked for, with the error of each value at each level in a table.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_lanes.hpp"

#include <float.h>

namespace ggufx {
namespace kernels {
namespace {

// Bits of a level in a key, and levels there are room for.
template <int Dims> constexpr int kLevelBits = Dims == 8 ? 2 : 3;
template <int Dims> constexpr int kLevelRoom = 1 << kLevelBits<Dims>;
template <int Dims> constexpr float kMostLevel = Dims == 8 ? 2.0f : 7.0f;
constexpr int kMaxSteps = 32; // candidates, with those that fill up a vector

// 16 or 32 values that share a scale, as magnitudes.
struct GridBlock {
    alignas(64) float xval[32], w[32], root_w[32];
    uint16_t keys[8]; // of groups of Dims
    uint8_t signs[4]; // per 8 values
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

// Each value as often as there are levels: what tables of errors are made of.
template <class V, int Dims> struct alignas(64) Spread {
    float xval[32], w[32], q[32];
    GGUFX_INLINE void fill(const float *x, const float *weights) {
        for (int i = 0; i < 32; i++) {
            xval[i] = x[i / kLevelRoom<Dims>];
            w[i] = weights[i / kLevelRoom<Dims>];
            q[i] = static_cast<float>(2 * (i % kLevelRoom<Dims>) + 1);
        }
    }
    // error[i][level] of each value
    GGUFX_INLINE void errors(float *to, float scale) const {
        for (int i = 0; i < 32; i += V::kLanes) {
            const Lane<V> diff = Lane<V>(scale) * Lane<V>(V::load(q + i)) - Lane<V>(V::load(xval + i));
            V::store(to + i, (Lane<V>(V::load(w + i)) * diff * diff).v);
        }
    }
};

// The key of the listed point of least error, the first of equals.
template <class V, int Dims>
GGUFX_INLINE unsigned best_listed(const GridLists &lists, unsigned key, const float *errors) {
    constexpr int L = V::kLanes;
    const uint16_t *entry = lists.words + lists.slots[key];
    const int n = entry[0];
    Lane<V> least(FLT_MAX), at(-1.0f);
    for (int first = 0; first < n; first += L) { // what stands behind a list is another one
        const typename V::Vi points = V::widen_u16(entry + 1 + first);
        Lane<V> error;
#pragma GCC unroll 8
        for (int i = 0; i < Dims; i++) {
            const typename V::Vi level =
                V::shift_right_by(points, V::set1_i(kLevelBits<Dims> * i));
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

struct GridRules {
    int n; // values
    int steps;
    float step; // of the largest code
    bool on_at_first, redo_all, always; // always: refine even what is on the grid
};

// One scale.
template <class V, int Dims>
unsigned place_group(const GridLists &lists, const float *xval, const float *root_w, float id,
                     float scale) {
    unsigned key = 0;
    for (int i = 0; i < Dims; i++) {
        const float level = nearest1(0.5f * (id * xval[i] - 1.0f));
        const float limited = level < 0.0f ? 0.0f : level > kMostLevel<Dims> ? kMostLevel<Dims> : level;
        key |= static_cast<unsigned>(limited) << (kLevelBits<Dims> * i);
    }
    if (on_grid(lists, key)) return key;
    Spread<V, Dims> spread;
    alignas(64) float errors[32];
    spread.fill(xval, root_w);
    spread.errors(errors, scale);
    return best_listed<V, Dims>(lists, key, errors);
}

struct GridSums {
    float qx = 0.0f, q2 = 0.0f;
};
template <int Dims> GridSums grid_sums(const GridBlock &b, int n) {
    GridSums sums;
    for (int i = 0; i < n; i++) {
        const float q = static_cast<float>(2 * level_of<Dims>(b.keys[i / Dims], i % Dims) + 1);
        sums.qx += b.w[i] * b.xval[i] * q;
        sums.q2 += b.w[i] * q * q;
    }
    return sums;
}

// All candidates of a block.
template <class V, int Dims> struct alignas(64) Candidates {
    float id[kMaxSteps], scale[kMaxSteps], qx[kMaxSteps], q2[kMaxSteps];
    int32_t keys[8][kMaxSteps];
    uint8_t off[kMaxSteps]; // bit k: group k was off the grid

    GGUFX_INLINE void fill(const GridRules &r, float top, float by) {
        for (int s = 0; s < kMaxSteps; s++) {
            const int step = s <= 2 * r.steps ? s - r.steps : r.steps;
            id[s] = (top + static_cast<float>(step) * r.step) / by;
            scale[s] = 1.0f / id[s];
            off[s] = 0;
        }
    }
    GGUFX_INLINE void place(const GridBlock &b, const GridLists &lists, int n, int n_steps) {
        for (int g = 0; g < n / Dims; g++) {
            const float *x = b.xval + Dims * g;
            for (int s = 0; s < n_steps; s += V::kLanes) {
                const Lane<V> ids = V::load(id + s);
                Lane<V> key;
                for (int i = 0; i < Dims; i++) {
                    const Lane<V> v = Lane<V>(0.5f) * (ids * Lane<V>(x[i]) - Lane<V>(1.0f));
                    key += clamped(nearest(v), 0.0f, kMostLevel<Dims>) *
                           Lane<V>(static_cast<float>(1 << (kLevelBits<Dims> * i)));
                }
                V::store_i(keys[g] + s, V::to_int(key.v));
            }
            Spread<V, Dims> spread;
            spread.fill(x, b.root_w + Dims * g);
            // Which ones are off the grid nobody can foresee: found first, without a branch.
            int pending[kMaxSteps], n_pending = 0;
            for (int s = 0; s < n_steps; s++) {
                pending[n_pending] = s;
                n_pending += !on_grid(lists, static_cast<unsigned>(keys[g][s]));
            }
            for (int i = 0; i < n_pending; i++) {
                const int s = pending[i];
                alignas(64) float errors[32];
                spread.errors(errors, scale[s]);
                const auto key = static_cast<unsigned>(keys[g][s]);
                keys[g][s] = static_cast<int32_t>(best_listed<V, Dims>(lists, key, errors));
                off[s] = static_cast<uint8_t>(off[s] | 1 << g);
            }
        }
    }
    GGUFX_INLINE void sum(const GridBlock &b, int n, int n_steps) {
        const typename V::Vi mask = V::set1_i(kLevelRoom<Dims> - 1);
        for (int s = 0; s < n_steps; s += V::kLanes) {
            Lane<V> x1, x2;
            for (int i = 0; i < n; i++) {
                const typename V::Vi level = V::and_i(
                    V::shift_right_by(V::load_i(keys[i / Dims] + s),
                                      V::set1_i(kLevelBits<Dims> * (i % Dims))), mask);
                const Lane<V> l = V::to_float(level), q = l + l + Lane<V>(1.0f);
                x1 += Lane<V>(b.w[i] * b.xval[i]) * q;
                x2 += Lane<V>(b.w[i]) * q * q;
            }
            V::store(qx + s, x1.v);
            V::store(q2 + s, x2.v);
        }
    }
};

// Looks around `top` / `by` for the best scale; b.scale is set.
template <class V, int Dims>
void search_grid(GridBlock *b, const GridLists &lists, const GridRules &r, float top, float by) {
    const int n_steps = 2 * r.steps + 1, n_groups = r.n / Dims;
    const unsigned all = (1u << n_groups) - 1u;
    Candidates<V, Dims> c;
    c.fill(r, top, by);
    c.place(*b, lists, r.n, n_steps);
    c.sum(*b, r.n, n_steps);
    unsigned off = r.on_at_first ? 0 : all;
    int taken = -1;
    float best = 0.0f;
    for (int s = 0; s < n_steps; s++) {
        if (!(c.q2[s] > 0.0f && c.qx[s] * c.qx[s] > best * c.q2[s])) continue;
        b->scale = c.qx[s] / c.q2[s];
        best = b->scale * c.qx[s];
        taken = s;
        off = c.off[s];
    }
    for (int g = 0; g < n_groups; g++)
        b->keys[g] = taken < 0 ? uint16_t{0} : static_cast<uint16_t>(c.keys[g][taken]);
    if (!((off || r.always) && b->scale > 0.0f)) return;
    const unsigned which = r.redo_all || r.always ? all : off;
    const float id = 1.0f / b->scale;
    for (int g = 0; g < n_groups; g++) {
        if (!(which >> g & 1u)) continue;
        b->keys[g] = static_cast<uint16_t>(place_group<V, Dims>(
            lists, b->xval + Dims * g, b->root_w + Dims * g, id, b->scale));
    }
    const GridSums sums = grid_sums<Dims>(*b, r.n);
    if (sums.q2 > 0.0f) b->scale = sums.qx / sums.q2;
}

// ---- magnitudes and signs -----------------------------------------------------------------------

// Types with 7 sign bits store an even number of signs: the value that costs least gives way.
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

// Without an imatrix w = sigma2 + x^2, with one qw * sqrt(sigma2 + x^2). Returns the largest.
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
    float max = b->xval[0];
    for (int i = 1; i < n; i++) max = max > b->xval[i] ? max : b->xval[i];
    b->scale = 0.0f;
    return max;
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
