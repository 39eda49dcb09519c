// Encoder of IQ1_S: 32 values, one shift; sums of all cuts from prefix sums.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_cuts.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Prefix sums of the sorted values, and sums before and after a cut times its level, for both
// shifts. Loads of whole vectors read after the last sum; that padding repeats the last cut.
template <class V> struct alignas(64) CutSums32 {
    static constexpr int L = V::kLanes, kRoom = 32 + L;
    float x[kRoom], w[kRoom];
    float low_x[2][kRoom], low_w[2][kRoom], high_x[2][kRoom], high_w[2][kRoom];

    GGUFX_INLINE void fill(const int32_t *rank, const float *values, const float *weights) {
        alignas(64) float products[32], sorted_x[32], sorted_w[32];
        for (int i = 0; i < 32; i += L) {
            const Lane<V> v = V::load(values + i);
            V::store(products + i, (Lane<V>(V::load(weights + i)) * v).v);
        }
        for (int i = 0; i < 32; i++) {
            sorted_x[rank[i]] = products[i];
            sorted_w[rank[i]] = weights[i];
        }
        x[0] = w[0] = 0.0f;
        for (int j = 0; j < 32; j++) {
            x[j + 1] = x[j] + sorted_x[j];
            w[j + 1] = w[j] + sorted_w[j];
        }
        for (int j = 33; j < kRoom; j++) x[j] = x[32], w[j] = w[32];
        for (int j = 0; j <= 32; j += L) {
            const Lane<V> to_x = V::load(x + j), to_w = V::load(w + j);
            const Lane<V> rest_x = Lane<V>(x[32]) - to_x, rest_w = Lane<V>(w[32]) - to_w;
            for (int s = 0; s < 2; s++) {
                const float *v = s ? kDown : kUp;
                V::store(low_x[s] + j, (to_x * Lane<V>(v[0])).v);
                V::store(low_w[s] + j, (to_w * Lane<V>(v[0]) * Lane<V>(v[0])).v);
                V::store(high_x[s] + j, (rest_x * Lane<V>(v[2])).v);
                V::store(high_w[s] + j, (rest_w * Lane<V>(v[2]) * Lane<V>(v[2])).v);
            }
        }
    }
    // Sums of cuts (first, lanes of second) for shifts 0 and 1.
    struct Cuts {
        Lane<V> qx[2], q2[2];
    };
    GGUFX_INLINE Cuts cuts(int first, int second) const {
        const Lane<V> middle_x =
            (Lane<V>(V::load(x + second)) - Lane<V>(x[first])) * Lane<V>(kUp[1]);
        const Lane<V> middle_w =
            (Lane<V>(V::load(w + second)) - Lane<V>(w[first])) * Lane<V>(kUp[1]) * Lane<V>(kUp[1]);
        Cuts c;
        c.qx[0] = Lane<V>(low_x[0][first]) + middle_x + Lane<V>(V::load(high_x[0] + second));
        c.qx[1] = Lane<V>(low_x[1][first]) - middle_x + Lane<V>(V::load(high_x[1] + second));
        c.q2[0] = Lane<V>(low_w[0][first]) + middle_w + Lane<V>(V::load(high_w[0] + second));
        c.q2[1] = Lane<V>(low_w[1][first]) + middle_w + Lane<V>(V::load(high_w[1] + second));
        return c;
    }
};

// Reference search: offers every cut that is better than the last accepted one.
template <class V> __attribute__((noinline)) BestCut search_every_cut(const CutSums32<V> &sums) {
    constexpr int L = V::kLanes;
    BestCut best;
    for (int first = 0; first <= 32; first++)
        for (int second = first; second <= 32; second += L) {
            const auto c = sums.cuts(first, second);
            const uint32_t lanes = better_lanes(c.qx[0], c.q2[0], best.score) |
                                   better_lanes(c.qx[1], c.q2[1], best.score);
            const int n = 33 - second < L ? 33 - second : L;
            if (!(lanes & ((1u << n) - 1u))) continue;
            alignas(64) float qx[2][L], q2[2][L];
            for (int s = 0; s < 2; s++) {
                V::store(qx[s], c.qx[s].v);
                V::store(q2[s], c.q2[s].v);
            }
            for (int j = __builtin_ctz(lanes); j < n; j++) // an accepted score may be an ulp lower
                for (int s = 0; s < 2; s++) best.offer(qx[s][j], q2[s][j], first, second + j, s);
        }
    return best;
}

// The same search in two passes. The scores qx^2 / q2 are rounded in kernels/scalar, so the choice
// between similar cuts depends on earlier ones. Cuts clearly below the best score have no influence
// if the remaining cuts are clearly above them. Pass 1 finds the best score to 10 bits. Pass 2
// divides the few cuts near it.
template <class V> struct CutSearch {
    static constexpr int L = V::kLanes;
    static constexpr int kMaxNear = 64;
    struct Near {
        float qx, q2, score;
        int first, second, shift;
    };
    const CutSums32<V> &sums;
    alignas(64) float scores[33 * (32 / L + 1)][L];
    Near near[kMaxNear];
    int n_near = 0;
    float most = 0.0f; // largest score in `near`

    explicit CutSearch(const CutSums32<V> &s) : sums(s) {}

    // Returns the best score, approximately.
    GGUFX_INLINE float estimate() {
        Lane<V> best;
        int at = 0;
        for (int first = 0; first <= 32; first++)
            for (int second = first; second <= 32; second += L) {
                const auto c = sums.cuts(first, second);
                const Lane<V> up = c.qx[0] * c.qx[0] * Lane<V>(V::about_inverse(c.q2[0].v));
                const Lane<V> down = c.qx[1] * c.qx[1] * Lane<V>(V::about_inverse(c.q2[1].v));
                const Lane<V> score = V::greater(up.v, down.v);
                V::store(scores[at++], score.v);
                best = V::greater(score.v, best.v);
            }
        return V::reduce_max(best.v);
    }
    GGUFX_INLINE void divide(int first, int second) {
        for (int s = 0; s < 2; s++) {
            const float *v = s ? kDown : kUp;
            const float x1 = sums.x[second] - sums.x[first], w1 = sums.w[second] - sums.w[first];
            Near &n = near[n_near++];
            n.qx = sums.low_x[s][first] + x1 * v[1] + sums.high_x[s][second];
            n.q2 = sums.low_w[s][first] + w1 * v[1] * v[1] + sums.high_w[s][second];
            n.score = n.qx * n.qx / n.q2;
            n.first = first, n.second = second, n.shift = s;
            most = most < n.score ? n.score : most;
        }
    }
    // Collects the cuts with scores above `limit` in the order of kernels/scalar. Returns false if
    // they are too many.
    GGUFX_INLINE bool find_near(float limit) {
        int at = 0;
        for (int first = 0; first <= 32; first++)
            for (int second = first; second <= 32; second += L, at++) {
                uint32_t lanes = V::bits((Lane<V>(limit) < Lane<V>(V::load(scores[at]))).m);
                if (33 - second < L) lanes &= (1u << (33 - second)) - 1u;
                for (; lanes; lanes &= lanes - 1) {
                    if (n_near == kMaxNear) return false;
                    divide(first, second + __builtin_ctz(lanes));
                }
            }
        return true;
    }
    // Returns false if the result is ambiguous.
    GGUFX_INLINE bool run(BestCut *best) {
        const float about = estimate();
        if (!(about > 0x1p-60f && about < 0x1p60f)) return false;
        if (!find_near(about * (1.0f - 0x1p-9f))) return false;
        const float limit = most * (1.0f - 0x1p-19f), clear = most * (1.0f - 0x1p-18f);
        for (int k = 0; k < n_near; k++) {
            const Near &n = near[k];
            if (n.score < clear) continue;
            if (n.score < limit) return false;
            best->offer(n.qx, n.q2, n.first, n.second, n.shift);
        }
        return true;
    }
};

template <class V> BestCut search_iq1_s(const CutSums32<V> &sums, float largest) {
    BestCut best;
    // Within these bounds nothing overflows or loses bits to rounding.
    if (sums.w[32] > 0x1p-40f && sums.w[32] < 0x1p60f && largest < 0x1p40f) {
        CutSearch<V> search(sums);
        if (search.run(&best)) return best;
    }
    return search_every_cut(sums);
}

template <class V>
bool fit_iq1_s(CutFit *f, const float *x, const float *w, float largest, const GridLists &lists) {
    Ranks ranks;
    CutSums32<V> cuts;
    rank_values<V>(&ranks, x, 32);
    cuts.fill(ranks.rank, x, w);
    if (!f->take<V>(search_iq1_s(cuts, largest), ranks.rank, 32, 1)) return false;
    const float *values = f->shifts ? kDown : kUp;
    bool moved = false;
    for (int at = 0; at < 32; at += 8)
        moved |= move_to_grid<V>(f->levels + at, lists, x + at, w + at, f->scale, values);
    if (!moved) return true;
    GridSums sums;
    for (int at = 0; at < 32; at += 8)
        add_group(&sums, f->levels + at, x + at, w + at, values, 1.0f);
    if (sums.qx > 0.0f && sums.q2 > 0.0f) f->scale = sums.qx / sums.q2;
    return true;
}

template <class V>
void encode_iq1_s_block(fmt::IQ1_S::Block &to, const float *x, const float *qw, float sum_squares,
                        const GridLists &lists) {
    using F = fmt::IQ1_S;
    const float sigma2 = 2.0f * sum_squares / 256.0f;
    float scales[8], max_scale = 0.0f;
    bool down[8] = {};
    to = {};
    for (unsigned ib = 0; ib < 8; ib++) {
        const float *from = x + 32 * ib;
        alignas(64) float w[32];
        CutFit f;
        scales[ib] = 0.0f;
        const float largest = largest1(from, 32);
        if (largest < 1e-12f) continue;
        cut_weights<V>(w, from, qw + 32 * ib, 32, sigma2);
        if (!fit_iq1_s<V>(&f, from, w, largest, lists)) continue;
        for (unsigned k = 0; k < 4; k++)
            put_index<F>(to, 4 * ib + k, point_index(lists, key_of(f.levels + 8 * k)));
        scales[ib] = f.scale;
        down[ib] = f.shifts != 0;
        max_scale = max_scale > f.scale ? max_scale : f.scale;
    }
    if (max_scale == 0.0f) return; // the indices stay
    const float d = max_scale / 15.0f, id = 1.0f / d;
    store_scale(to.d, d * 1.125f);
    for (unsigned ib = 0; ib < 8; ib++) {
        fmt::write(to, F::scale_at(ib), static_cast<int>(scale_code(id, scales[ib], 7)));
        fmt::write(to, F::shift_at(ib), down[ib]);
    }
}

template <class V> void encode_iq1_s(const EncodeJob &job) {
    encode_iq1<V, fmt::IQ1_S>(job, encode_iq1_s_block<V>);
}

} // namespace
} // namespace kernels
} // namespace ggufx
