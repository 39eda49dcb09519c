// Scale search of the IQ2 and IQ3 types with candidates in lanes; same results as kernels/scalar.
// Adjacent candidates mostly have the same levels, so the points of their list are evaluated at
// once.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_grid.hpp"

namespace ggufx {
namespace kernels {
namespace {

constexpr int kMaxSteps = 32; // candidates, rounded up to whole vectors
constexpr int kMaxLevels = 8;

struct GridRules {
    int n; // number of values
    int steps;
    float step;                         // step of the largest code
    bool on_at_first, redo_all, always; // always: refine also groups on the grid
};

// Returns the level nearest to x * id, as the bits of a float relative to kLevelZero. Adds twice
// the rounding constant of kernels/scalar instead of halving the operand. The low bits are the
// same, and only these matter.
constexpr int32_t kLevelZero = 0x4b400000;
template <class V, int Dims> GGUFX_INLINE typename V::Vi level_bits(Lane<V> x, Lane<V> id) {
    const Lane<V> sum = id * x - Lane<V>(1.0f) + Lane<V>(2.0f * kRounder);
    const typename V::Vi bits =
        V::replace(V::as_int(sum.v), V::set1_i(0x007fffff), V::set1_i(0x4b000000));
    constexpr int most = static_cast<int>(kMostLevel<Dims>);
    return V::min_i(V::max_i(bits, V::set1_i(kLevelZero)), V::set1_i(kLevelZero + most));
}

// Returns the keys of a group for candidates in lanes.
template <class V, int Dims> GGUFX_INLINE typename V::Vi keys_of(const float *x, Lane<V> id) {
    typename V::Vi keys = V::set1_i(0);
    uint32_t zeros = 0;
#pragma GCC unroll 8
    for (int i = Dims - 1; i >= 0; i--) {
        keys = V::add_i(V::template shift_left<kLevelBits<Dims>>(keys),
                        level_bits<V, Dims>(Lane<V>(x[i]), id));
        zeros = (zeros << kLevelBits<Dims>)+static_cast<uint32_t>(kLevelZero);
    }
    return V::sub_i(keys, V::set1_i(static_cast<int32_t>(zeros)));
}

// Cost of each level of each value of a group for each candidate: [value][level] in one row.
template <class V, int Dims> struct alignas(64) StepErrors {
    float of[32][kMaxSteps];

    // scaled[level][candidate]: the dequantized level.
    GGUFX_INLINE void fill(const float *x, const float *w, const float (*scaled)[kMaxSteps],
                           int n_steps) {
        constexpr int levels = static_cast<int>(kMostLevel<Dims>) + 1;
        for (int s = 0; s < n_steps; s += V::kLanes)
            for (int i = 0; i < Dims; i++) {
                const Lane<V> xi(x[i]), wi(w[i]);
#pragma GCC unroll 8
                for (int level = 0; level < levels; level++) {
                    const Lane<V> diff = Lane<V>(V::load(scaled[level] + s)) - xi;
                    V::store(of[i * kLevelRoom<Dims> + level] + s, (wi * diff * diff).v);
                }
            }
    }
    // Returns the keys of the least-cost points of a list, the first of equals, for candidates from
    // `first` on.
    __attribute__((noinline)) typename V::Vi nearest(const uint16_t *entry, int first) const {
        const char *from = reinterpret_cast<const char *>(of[0] + first);
        Lane<V> least(FLT_MAX);
        typename V::Vi best = V::set1_i(entry[1]);
        for (int k = 1; k <= entry[0]; k++) {
            const uint32_t key = entry[k], places = key << kRowBits;
            Lane<V> error = cost(from, places, 0);
#pragma GCC unroll 8
            for (int i = 1; i < Dims; i++) error += cost(from, places, i);
            best = V::pick_i((error < least).m, V::set1_i(static_cast<int32_t>(key)), best);
            least = V::lesser(error.v, least.v);
        }
        return best;
    }

private:
    static constexpr int kRowBits = 7; // log2 of the bytes per row
    static_assert(sizeof(float[kMaxSteps]) == 1 << kRowBits);
    // places: a key, shifted by kRowBits.
    static GGUFX_INLINE Lane<V> cost(const char *from, uint32_t places, int i) {
        constexpr uint32_t mask = (kLevelRoom<Dims> - 1u) << kRowBits;
        const size_t row = places >> (kLevelBits<Dims> * i) & mask;
        constexpr int room = kLevelRoom<Dims> << kRowBits;
        return V::load(reinterpret_cast<const float *>(from + row + i * room));
    }
};

// All candidates of a block.
template <class V, int Dims> struct alignas(64) Candidates {
    static constexpr int L = V::kLanes;
    int n_steps;
    alignas(64) float id[kMaxSteps], scale[kMaxSteps], scaled[kMaxLevels][kMaxSteps];
    alignas(64) float qx[kMaxSteps], q2[kMaxSteps];
    alignas(64) int32_t nearest[8][kMaxSteps], keys[8][kMaxSteps]; // unrestricted; on the grid
    alignas(64) float before[8][1 + kMaxSteps]; // `nearest` of the previous candidate

    GGUFX_INLINE void fill(const GridRules &r, float top, float by) {
        n_steps = 2 * r.steps + 1;
        const Lane<V> steps(static_cast<float>(r.steps));
        for (int s = 0; s < n_steps; s += L) {
            const Lane<V> number = Lane<V>(V::load(kLaneNumbers)) + Lane<V>(static_cast<float>(s));
            const Lane<V> step = Lane<V>(V::lesser((number - steps).v, steps.v));
            const Lane<V> inverse = (Lane<V>(top) + step * Lane<V>(r.step)) / Lane<V>(by);
            const Lane<V> value = Lane<V>(1.0f) / inverse;
            V::store(id + s, inverse.v);
            V::store(scale + s, value.v);
            for (int level = 0; level <= static_cast<int>(kMostLevel<Dims>); level++)
                V::store(scaled[level] + s, (value * Lane<V>(static_cast<float>(2 * level + 1))).v);
        }
    }
    GGUFX_INLINE void place(const GridBlock &b, const GridLists &lists, int n) {
        for (int g = 0; g < n / Dims; g++)
            for (int s = 0; s < n_steps; s += L) {
                const typename V::Vi k = keys_of<V, Dims>(b.xval + Dims * g, V::load(id + s));
                V::store_i(nearest[g] + s, k);
                V::store(before[g] + 1 + s, V::to_float(k));
            }
        for (int g = 0; g < n / Dims; g++) {
            StepErrors<V, Dims> errors;
            errors.fill(b.xval + Dims * g, b.root_w + Dims * g, scaled, n_steps);
            for (int s = 0; s < n_steps; s += L)
                place_some(g, s, n_steps - s < L ? n_steps - s : L, lists, errors);
        }
    }
    // Places a vector of n candidates of group g.
    GGUFX_INLINE void place_some(int g, int s, int n, const GridLists &lists,
                                 const StepErrors<V, Dims> &errors) {
        typename V::Vi placed = V::load_i(nearest[g] + s);
        const Where<V> turns = Lane<V>(V::load(before[g] + s)) != Lane<V>(V::to_float(placed));
        struct Run {
            int first, end;
            const uint16_t *entry;
        } runs[L];
        int n_runs = 0; // runs off the grid are unpredictable: found without a branch
        for (uint32_t starts = (V::bits(turns.m) | 1u) & ((1u << n) - 1u); starts;) {
            Run &run = runs[n_runs];
            run.first = __builtin_ctz(starts);
            starts &= starts - 1;
            run.end = __builtin_ctz(starts | 1u << n);
            run.entry = lists.words + lists.slots[nearest[g][s + run.first]];
            n_runs += run.entry[0] != 0;
        }
        const Lane<V> number = V::load(kLaneNumbers);
        for (int k = 0; k < n_runs; k++) {
            const Where<V> in = (Lane<V>(static_cast<float>(runs[k].first)) <= number) &
                                (number < Lane<V>(static_cast<float>(runs[k].end)));
            placed = V::pick_i(in.m, errors.nearest(runs[k].entry, s), placed);
        }
        V::store_i(keys[g] + s, placed);
    }
    GGUFX_INLINE void sum(const GridBlock &b, int n) {
        for (int s = 0; s < n_steps; s += L) {
            Lane<V> x1, x2;
            for (int i = 0; i < n; i++) {
                const typename V::Vi level = V::shift_right_by(
                    V::load_i(keys[i / Dims] + s), V::set1_i(kLevelBits<Dims> * (i % Dims)));
                const Lane<V> q =
                    V::template look_up<kLevelRoom<Dims>>(kErrorTable<Dims>.level, level);
                x1 += Lane<V>(b.wx[i]) * q;
                x2 += Lane<V>(b.w[i]) * q * q;
            }
            V::store(qx + s, x1.v);
            V::store(q2 + s, x2.v);
        }
    }
    // Accepts the best candidate: keys, scale. Returns the groups that were off the grid, or `off`
    // if none is accepted.
    GGUFX_INLINE unsigned take(GridBlock *b, int n_groups, unsigned off) const {
        int taken = -1;
        float best = 0.0f;
        for (int s = 0; s < n_steps; s++) {
            if (!(q2[s] > 0.0f && qx[s] * qx[s] > best * q2[s])) continue;
            b->scale = qx[s] / q2[s];
            best = b->scale * qx[s];
            taken = s;
        }
        if (taken >= 0) off = 0;
        for (int g = 0; g < n_groups; g++) {
            b->keys[g] = taken < 0 ? uint16_t{0} : static_cast<uint16_t>(keys[g][taken]);
            if (taken >= 0 && keys[g][taken] != nearest[g][taken]) off |= 1u << g;
        }
        return off;
    }
};

template <int Dims> GGUFX_INLINE unsigned join_levels(const uint8_t *levels) {
    unsigned key = 0;
    for (int i = 0; i < Dims; i++)
        key |= static_cast<unsigned>(levels[i]) << (kLevelBits<Dims> * i);
    return key;
}

// Recomputes the groups of `which` for the scale of the block, then the scale from all groups.
template <class V, int Dims>
GGUFX_INLINE void refine(GridBlock *b, const GridLists &lists, int n, unsigned which) {
    const Lane<V> id = Lane<V>(1.0f) / Lane<V>(b->scale);
    alignas(64) uint8_t levels[32];
    for (int i = 0; i < n; i += V::kLanes) {
        const typename V::Vi bits = level_bits<V, Dims>(V::load(b->xval + i), id);
        V::store_bytes(levels + i, V::sub_i(bits, V::set1_i(kLevelZero)));
    }
    for (int g = 0; g < n / Dims; g++) {
        if (!(which >> g & 1u)) continue;
        unsigned key = join_levels<Dims>(levels + Dims * g);
        if (!on_grid(lists, key)) {
            alignas(64) float errors[32];
            level_errors<V, Dims>(errors, b->xval + Dims * g, b->root_w + Dims * g, b->scale);
            key = best_listed<V, Dims>(lists, key, errors);
        }
        b->keys[g] = static_cast<uint16_t>(key);
    }
    const GridSums sums = grid_sums<Dims>(*b, n);
    if (sums.q2 > 0.0f) b->scale = sums.qx / sums.q2;
}

// Searches the best scale around `top` / `by`; b.scale is the initial value.
template <class V, int Dims>
void search_grid(GridBlock *b, const GridLists &lists, const GridRules &r, float top, float by) {
    const int n_groups = r.n / Dims;
    const unsigned all = (1u << n_groups) - 1u;
    Candidates<V, Dims> c;
    c.fill(r, top, by);
    c.place(*b, lists, r.n);
    c.sum(*b, r.n);
    const unsigned off = c.take(b, n_groups, r.on_at_first ? 0 : all);
    if (!((off || r.always) && b->scale > 0.0f)) return;
    refine<V, Dims>(b, lists, r.n, r.redo_all || r.always ? all : off);
}

} // namespace
} // namespace kernels
} // namespace ggufx
