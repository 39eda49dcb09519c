// Encoder of IQ1_M: 16 values, a shift for each half.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_cuts.hpp"

namespace ggufx {
namespace kernels {
namespace {

// Returns the level values of half k for the shifts.
GGUFX_INLINE const float *values_of(int shifts, int k) {
    return (k == 0 ? shifts >> 1 : shifts) & 1 ? kDown : kUp;
}

// All cuts of 16 values in the order of kernels/scalar, padded with empty cuts.
struct Cuts16 {
    static constexpr int kCuts = 153, kRoom = 160;
    alignas(64) float first[kRoom], second[kRoom];
    constexpr Cuts16() : first(), second() {
        int n = 0;
        for (int f = 0; f <= 16; f++)
            for (int s = f; s <= 16; s++, n++) {
                first[n] = static_cast<float>(f);
                second[n] = static_cast<float>(s);
            }
    }
};
constexpr Cuts16 kCuts16;

template <class V> struct CutSums {
    Lane<V> qx[4], q2[4]; // indexed by shifts
    // Adds a value of `half`, with level 0 in the lanes of `low`, 1 in those of `middle`, 2 in the
    // others.
    GGUFX_INLINE void add(float w, float x, int half, Where<V> low, Where<V> middle) {
        Lane<V> x_of[2], square_of[2]; // up, down
#pragma GCC unroll 2
        for (int s = 0; s < 2; s++) {
            const float *v = s ? kDown : kUp;
            x_of[s] = low.pick(w * v[0] * x, middle.pick(w * v[1] * x, w * v[2] * x));
            square_of[s] = low.pick(w * v[0] * v[0], middle.pick(w * v[1] * v[1], w * v[2] * v[2]));
        }
#pragma GCC unroll 4
        for (int s = 0; s < 4; s++) {
            const int down = half == 0 ? s >> 1 : s & 1;
            qx[s] += x_of[down];
            q2[s] += square_of[down];
        }
    }
};

template <class V> BestCut search_iq1_m(const uint8_t *order, const float *x, const float *w) {
    constexpr int L = V::kLanes;
    BestCut best;
    for (int cut = 0; cut < Cuts16::kCuts; cut += L) {
        const Lane<V> first = V::load(kCuts16.first + cut), second = V::load(kCuts16.second + cut);
        CutSums<V> sums;
        for (int j = 0; j < 16; j++) {
            const int i = order[j];
            const Lane<V> at(static_cast<float>(j));
            sums.add(w[i], x[i], i / 8, at < first, at < second);
        }
        uint32_t lanes = 0;
#pragma GCC unroll 4
        for (int s = 0; s < 4; s++) lanes |= better_lanes(sums.qx[s], sums.q2[s], best.score);
        const int n = Cuts16::kCuts - cut < L ? Cuts16::kCuts - cut : L;
        if (!(lanes & ((1u << n) - 1u))) continue;
        alignas(64) float qx[4][L], q2[4][L];
#pragma GCC unroll 4
        for (int s = 0; s < 4; s++) {
            V::store(qx[s], sums.qx[s].v);
            V::store(q2[s], sums.q2[s].v);
        }
        for (int j = __builtin_ctz(lanes); j < n; j++) {
            for (int s = 0; s < 4; s++)
                best.offer(qx[s][j], q2[s][j], static_cast<int>(kCuts16.first[cut + j]),
                           static_cast<int>(kCuts16.second[cut + j]), s);
        }
    }
    return best;
}

template <class V>
bool fit_iq1_m(CutFit *f, const float *x, const float *w, const GridLists &lists) {
    Ranks ranks;
    rank_values<V>(&ranks, x, 16);
    if (!f->take<V>(search_iq1_m<V>(ranks.order, x, w), ranks.rank, 16, 3)) return false;
    bool moved = false;
    GridSums sums;
    for (int k = 0; k < 2; k++) {
        const float *values = values_of(f->shifts, k);
        const int at = 8 * k;
        moved |= move_to_grid<V>(f->levels + at, lists, x + at, w + at, f->scale, values);
        add_group(&sums, f->levels + at, x + at, w + at, values, 1.0f);
    }
    if (moved && sums.qx > 0.0f && sums.q2 > 0.0f) f->scale = sums.qx / sums.q2;
    return true;
}

// Stores the codes of the scales, and refits the block scale from all groups.
inline void finish_iq1_m(fmt::IQ1_M::Block &to, const CutFit *fits, const float *x, const float *w,
                         float max_scale) {
    using F = fmt::IQ1_M;
    float d = max_scale / 15.0f;
    const float id = 1.0f / d;
    GridSums sums;
    for (unsigned ib = 0; ib < 16; ib++) {
        const CutFit &f = fits[ib];
        const uint32_t code = scale_code(id, f.scale, 7);
        fmt::write(to, F::scale_at(ib), static_cast<int>(code));
        for (unsigned k = 0; k < 2; k++) {
            const unsigned at = 16 * ib + 8 * k;
            const float *values = values_of(f.shifts, static_cast<int>(k));
            fmt::write(to, F::shift_at(2 * ib + k), values == kDown);
            add_group(&sums, f.levels + 8 * k, x + at, w + at, values,
                      static_cast<float>(2 * code + 1));
        }
    }
    if (sums.q2 > 0.0f) d = sums.qx / sums.q2;
    uint8_t stored[2]; // the bits of the f16 scale are stored in four fields
    store_scale(stored, d * 1.1125f);
    for (unsigned i = 0; i < 4; i++) fmt::write(to, F::d_at(i), load_u16le(stored) >> (4 * i));
}

template <class V>
void encode_iq1_m_block(fmt::IQ1_M::Block &to, const float *x, const float *qw, float sum_squares,
                        const GridLists &lists) {
    CutFit fits[16];
    alignas(64) float w[256];
    float max_scale = 0.0f;
    to = {};
    cut_weights<V>(w, x, qw, 256, 2.0f * sum_squares / 256.0f);
    for (unsigned ib = 0; ib < 16; ib++) {
        CutFit &f = fits[ib];
        const unsigned at = 16 * ib;
        f.scale = 0.0f, f.shifts = 0;
        for (int i = 0; i < 16; i++) // a zero sub-block dequantizes as point 0
            f.levels[i] = static_cast<uint8_t>(level_of<8>(lists.first_key, i % 8));
        if (largest1(x + at, 16) < 1e-7f) continue;
        if (!fit_iq1_m<V>(&f, x + at, w + at, lists)) continue;
        for (unsigned k = 0; k < 2; k++)
            put_index<fmt::IQ1_M>(to, 2 * ib + k, point_index(lists, key_of(f.levels + 8 * k)));
        max_scale = max_scale > f.scale ? max_scale : f.scale;
    }
    if (max_scale == 0.0f) return; // the indices stay
    finish_iq1_m(to, fits, x, w, max_scale);
}

template <class V> void encode_iq1_m(const EncodeJob &job) {
    encode_iq1<V, fmt::IQ1_M>(job, encode_iq1_m_block<V>);
}

} // namespace
} // namespace kernels
} // namespace ggufx
