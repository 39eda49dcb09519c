// IQ1_S: 32 values, one shift; sums of all cuts from prefix sums.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_cuts.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Sums of the three runs of cuts (first, lanes of second) from prefix sums.
template <class V> struct Runs {
    Lane<V> a, b, c;
    GGUFX_INLINE Runs(const float *prefix, int first, int second)
        : a(prefix[first] - prefix[0]) {
        const Lane<V> to = V::load(prefix + second);
        b = to - Lane<V>(prefix[first]);
        c = Lane<V>(prefix[32]) - to;
    }
    GGUFX_INLINE Lane<V> sum(const float *v) const {
        return a * Lane<V>(v[0]) + b * Lane<V>(v[1]) + c * Lane<V>(v[2]);
    }
    GGUFX_INLINE Lane<V> square(const float *v) const {
        return a * Lane<V>(v[0]) * Lane<V>(v[0]) + b * Lane<V>(v[1]) * Lane<V>(v[1]) +
               c * Lane<V>(v[2]) * Lane<V>(v[2]);
    }
};

template <class V> void offer_cuts(BestCut *best, const float *sum_x, const float *sum_w, int first) {
    constexpr int L = V::kLanes;
    for (int second = first; second <= 32; second += L) {
        const Runs<V> x(sum_x, first, second), w(sum_w, first, second);
        const Lane<V> qx[2] = {x.sum(kUp), x.sum(kDown)}, q2[2] = {w.square(kUp), w.square(kDown)};
        uint32_t lanes = better_lanes(qx[0], q2[0], best->score) |
                         better_lanes(qx[1], q2[1], best->score);
        const int n = 33 - second < L ? 33 - second : L;
        if (!(lanes & ((1u << n) - 1u))) continue;
        alignas(64) float qx1[2][L], q21[2][L];
        for (int s = 0; s < 2; s++) {
            V::store(qx1[s], qx[s].v);
            V::store(q21[s], q2[s].v);
        }
        for (int j = __builtin_ctz(lanes); j < n; j++) { // a score taken may be an ulp lower
            for (int s = 0; s < 2; s++) best->offer(qx1[s][j], q21[s][j], first, second + j, s);
        }
    }
}

template <class V>
bool fit_iq1_s(CutFit *f, const float *x, const float *w, const GridLists &lists) {
    uint8_t order[32];
    float sum_x[33 + V::kLanes] = {}, sum_w[33 + V::kLanes] = {}; // read to the end of a vector
    sort_values<V>(order, x, 32);
    for (int j = 0; j < 32; j++) {
        sum_x[j + 1] = sum_x[j] + w[order[j]] * x[order[j]];
        sum_w[j + 1] = sum_w[j] + w[order[j]];
    }
    BestCut best;
    for (int first = 0; first <= 32; first++) offer_cuts<V>(&best, sum_x, sum_w, first);
    if (!f->take(best, order, 32, 1)) return false;
    const float *values = f->shifts ? kDown : kUp;
    bool moved = false;
    GridSums sums;
    for (int at = 0; at < 32; at += 8) {
        moved |= move_to_grid<V>(f->levels + at, lists, x + at, w + at, f->scale, values);
        add_group(&sums, f->levels + at, x + at, w + at, values, 1.0f);
    }
    if (moved && sums.qx > 0.0f && sums.q2 > 0.0f) f->scale = sums.qx / sums.q2;
    return true;
}

template <class V>
void encode_iq1_s_block(uint8_t *out, const float *x, const float *qw, float sum_squares,
                        const GridLists &lists) {
    const float sigma2 = 2.0f * sum_squares / 256.0f;
    float scales[8], max_scale = 0.0f;
    uint32_t high[8];
    __builtin_memset(out, 0, 50);
    for (int ib = 0; ib < 8; ib++) {
        const float *from = x + 32 * ib;
        alignas(64) float w[32];
        CutFit f;
        scales[ib] = 0.0f;
        high[ib] = 0;
        if (largest1(from, 32) < 1e-12f) continue;
        cut_weights<V>(w, from, qw + 32 * ib, 32, sigma2);
        if (!fit_iq1_s<V>(&f, from, w, lists)) continue;
        for (int k = 0; k < 4; k++) {
            const unsigned index = point_index(lists, key_of(f.levels + 8 * k));
            out[2 + 4 * ib + k] = static_cast<uint8_t>(index & 255u);
            high[ib] |= index >> 8 << (3 * k);
        }
        store_u16le(out + 34 + 2 * ib, static_cast<uint16_t>(high[ib]));
        scales[ib] = f.scale;
        high[ib] |= f.shifts ? 0x8000u : 0u;
        max_scale = max_scale > f.scale ? max_scale : f.scale;
    }
    if (max_scale == 0.0f) return; // the indices stay
    const float d = max_scale / 15.0f, id = 1.0f / d;
    store_scale(out, d * 1.125f);
    for (int ib = 0; ib < 8; ib++)
        store_u16le(out + 34 + 2 * ib,
                    static_cast<uint16_t>(high[ib] | scale_code(id, scales[ib], 7) << 12));
}

template <class V> void encode_iq1_s(const EncodeJob &job) {
    encode_iq1<V, 50>(job, encode_iq1_s_block<V>);
}

} // namespace
} // namespace kernels
} // namespace ggufx
