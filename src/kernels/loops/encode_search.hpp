// Scale searches of kernels/scalar with a group in each lane. Rejected candidates leave their lane
// unchanged. Codes are computed once, from the best candidate.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/loops/encode_lanes.hpp"

namespace ggufx {
namespace kernels {
namespace {

template <class V> GGUFX_INLINE Lane<V> signed_largest(const Group<V> &x, int n) {
    Lane<V> most, value;
    for (int i = 0; i < n; i++) {
        const Lane<V> xi = x[i], m = magnitude(xi);
        const Where<V> more = most < m;
        most = more.pick(m, most);
        value = more.pick(xi, value);
    }
    return value;
}

// Weighted sums of one candidate; wx = w * x.
template <class V> struct FitSums {
    Lane<V> lx, l2;
    GGUFX_INLINE void add(Lane<V> w, Lane<V> wx, Lane<V> l) {
        lx += wx * l;
        l2 += w * l * l;
    }
    GGUFX_INLINE void remove(Lane<V> w, Lane<V> wx, Lane<V> l) {
        lx -= wx * l;
        l2 -= w * l * l;
    }
    GGUFX_INLINE Lane<V> ratio() const { return (Lane<V>(0.0f) < l2).pick(lx / l2, 0.0f); }
};

// Codes 0 .. 2 n_max - 1 for an inverse scale; 0 in dead lanes.
template <class V>
GGUFX_INLINE void signed_codes(Group<V> *codes, const Group<V> &x, int n, float n_max,
                               Lane<V> iscale, Where<V> dead) {
    for (int i = 0; i < n; i++) {
        const Lane<V> l = clamped(nearest(iscale * x[i]), -n_max, n_max - 1.0f);
        codes->set(i, dead.pick(0.0f, l + Lane<V>(n_max)));
    }
}

template <class V>
Lane<V> fit_signed(int n, float n_max, const Group<V> &x, const Group<V> &w, Group<V> *codes) {
    const Lane<V> max = signed_largest(x, n);
    const Where<V> dead = magnitude(max) < Lane<V>(kTiny);
    Group<V> wx;
    for (int i = 0; i < n; i++) wx.set(i, w[i] * x[i]);
    const auto sums_of = [&](Lane<V> iscale) {
        FitSums<V> sums;
        for (int i = 0; i < n; i++)
            sums.add(w[i], wx[i], clamped(nearest(iscale * x[i]), -n_max, n_max - 1.0f));
        return sums;
    };
    Lane<V> best_iscale = Lane<V>(-n_max) / max;
    FitSums<V> sums = sums_of(best_iscale);
    Lane<V> scale = (sums.l2 != Lane<V>(0.0f)).pick(sums.lx / sums.l2, 0.0f);
    Lane<V> best = scale * sums.lx;
    for (int step = -9; step <= 9; step++) {
        if (step == 0) continue;
        const Lane<V> iscale = Lane<V>(-(n_max + 0.1f * static_cast<float>(step))) / max;
        sums = sums_of(iscale);
        const Where<V> better = (Lane<V>(0.0f) < sums.l2) & (best * sums.l2 < sums.lx * sums.lx);
        const Lane<V> ratio = sums.lx / sums.l2;
        best_iscale = better.pick(iscale, best_iscale);
        scale = better.pick(ratio, scale);
        best = better.pick(ratio * sums.lx, best);
    }
    signed_codes(codes, x, n, n_max, best_iscale, dead);
    return dead.pick(0.0f, scale);
}

// Accepts the code `next` in lanes where the group fits better with it.
template <class V>
GGUFX_INLINE void take_code(Group<V> *l, int i, FitSums<V> *sums, FitSums<V> without, Lane<V> w,
                            Lane<V> wx, Lane<V> next, Where<V> may) {
    FitSums<V> with = without;
    with.add(w, wx, next);
    const Where<V> better =
        may & (next != (*l)[i]) & (sums->lx * sums->lx * with.l2 < with.lx * with.lx * sums->l2);
    sums->lx = better.pick(with.lx, sums->lx);
    sums->l2 = better.pick(with.l2, sums->l2);
    l->set(i, better.pick(low8(next), (*l)[i]));
}

// Weights x^2; codes -n_max .. n_max - 1 are stored from 0 on.
template <class V> Lane<V> fit_descent(int n, float n_max, const Group<V> &x, Group<V> *codes) {
    const Lane<V> zero(0.0f), max = signed_largest(x, n);
    const Where<V> dead = magnitude(max) < Lane<V>(kTiny);
    const Lane<V> iscale = Lane<V>(-n_max) / max;
    FitSums<V> sums;
    for (int i = 0; i < n; i++) {
        const Lane<V> l = clamped(nearest(iscale * x[i]), -n_max, n_max - 1.0f);
        codes->set(i, l);
        sums.add(x[i] * x[i], x[i] * x[i] * x[i], l);
    }
    for (int pass = 0; pass < 5; pass++) {
        for (int i = 0; i < n; i++) {
            const Lane<V> w = x[i] * x[i], wx = w * x[i];
            FitSums<V> without = sums;
            without.remove(w, wx, (*codes)[i]);
            const Lane<V> next =
                clamped(nearest(x[i] * without.l2 / without.lx), -n_max, n_max - 1.0f);
            FitSums<V> with = without;
            with.add(w, wx, next);
            const Where<V> better = (zero < without.lx) & (next != (*codes)[i]) & (zero < with.l2) &
                                    (sums.lx * sums.lx * with.l2 < with.lx * with.lx * sums.l2);
            sums.lx = better.pick(with.lx, sums.lx);
            sums.l2 = better.pick(with.l2, sums.l2);
            codes->set(i, better.pick(next, (*codes)[i]));
        }
    }
    for (int i = 0; i < n; i++) codes->set(i, dead.pick(0.0f, (*codes)[i] + Lane<V>(n_max)));
    return dead.pick(0.0f, sums.ratio());
}

// Returns the inverse scale of least squared error among (n_max + 0.1 * (-4 .. 4)) / max.
template <class V>
GGUFX_INLINE Lane<V> best_positive_scale(int n, float n_max, const Group<V> &x, const Group<V> &w,
                                         Lane<V> max) {
    Lane<V> best_iscale = Lane<V>(n_max) / max, best;
    const Lane<V> first = Lane<V>(1.0f) / best_iscale;
    for (int i = 0; i < n; i++) {
        const Lane<V> diff = x[i] - first * nearest8(best_iscale * x[i]);
        best += w[i] * diff * diff;
    }
    for (int step = -4; step <= 4; step++) {
        if (step == 0) continue;
        const Lane<V> iscale = Lane<V>(0.1f * static_cast<float>(step) + n_max) / max;
        const Lane<V> scale = Lane<V>(1.0f) / iscale;
        Lane<V> error;
        for (int i = 0; i < n; i++) {
            const Lane<V> diff = x[i] - scale * at_most(nearest(iscale * x[i]), n_max);
            error += w[i] * diff * diff;
        }
        const Where<V> better = error < best;
        best = better.pick(error, best);
        best_iscale = better.pick(iscale, best_iscale);
    }
    return best_iscale;
}

// Codes 0 .. n_max, as bytes: negative ones wrap.
template <class V>
Lane<V> fit_positive(int n, float n_max, const Group<V> &x, const Group<V> &w, Group<V> *codes) {
    const Lane<V> zero(0.0f);
    Lane<V> max;
    for (int i = 0; i < n; i++) max = V::greater(max.v, x[i].v);
    const Where<V> dead = max < Lane<V>(kTiny);
    const Lane<V> iscale = best_positive_scale(n, n_max, x, w, max);
    FitSums<V> sums;
    for (int i = 0; i < n; i++) {
        const Lane<V> l = at_most(nearest(iscale * x[i]), n_max);
        codes->set(i, low8(l));
        sums.add(w[i], w[i] * x[i], l);
    }
    for (int pass = 0; pass < 5; pass++) {
        for (int i = 0; i < n; i++) {
            FitSums<V> without = sums;
            without.remove(w[i], w[i] * x[i], (*codes)[i]);
            const Lane<V> next = at_most(nearest(x[i] * without.l2 / without.lx), n_max);
            take_code(codes, i, &sums, without, w[i], w[i] * x[i], next,
                      (zero < without.lx) & (zero < without.l2));
        }
    }
    for (int i = 0; i < n; i++) codes->set(i, dead.pick(0.0f, (*codes)[i]));
    return dead.pick(0.0f, sums.ratio());
}

// value = scale * code - min, min >= 0; see MinSearch in kernels/scalar.
struct LineSearch {
    int n;
    float n_max, first, step;
    int n_steps;
    bool absolute;
};
template <class V> struct LineFit { Lane<V> scale, min; };

template <class V>
GGUFX_INLINE Lane<V> line_code(Lane<V> iscale, Lane<V> x, Lane<V> min, float n_max) {
    return clamped(nearest(iscale * (x - min)), 0.0f, n_max);
}

template <class V>
GGUFX_INLINE Lane<V> line_error(const LineSearch &s, const Group<V> &x, const Group<V> &w,
                                const Group<V> &codes, Lane<V> scale, Lane<V> min) {
    Lane<V> error;
    if (s.absolute) {
        for (int i = 0; i < s.n; i++) error += w[i] * magnitude(scale * codes[i] + min - x[i]);
        return error;
    }
    for (int i = 0; i < s.n; i++) {
        const Lane<V> diff = scale * codes[i] + min - x[i];
        error += w[i] * (diff * diff);
    }
    return error;
}

// Least-squares fit of the codes of one candidate; lanes without a solution are cleared in *valid.
template <class V>
GGUFX_INLINE LineFit<V> fit_line(const LineSearch &s, const Group<V> &x, const Group<V> &w,
                                 Group<V> *codes, Lane<V> iscale, Lane<V> from, LineFit<V> sums,
                                 Where<V> *valid) {
    Lane<V> l, l2, xl;
    for (int i = 0; i < s.n; i++) {
        const Lane<V> code = line_code(iscale, x[i], from, s.n_max), wl = w[i] * code;
        codes->set(i, code);
        l += wl;
        l2 += wl * code;
        xl += wl * x[i];
    }
    const Lane<V> zero(0.0f), sum_w = sums.scale, sum_x = sums.min;
    const Lane<V> d = sum_w * l2 - l * l;
    const Lane<V> scale = (sum_w * xl - sum_x * l) / d, min = (l2 * sum_x - l * xl) / d;
    const Where<V> above = zero < min;
    *valid = zero < d;
    return {above.pick(xl / l2, scale), above.pick(zero, min)};
}

template <class V>
LineFit<V> fit_with_min(const LineSearch &s, const Group<V> &x, const Group<V> &w,
                        Group<V> *codes) {
    const Lane<V> zero(0.0f);
    Lane<V> min = x[0], max = x[0];
    LineFit<V> sums; // sums of weights and of weighted values
    for (int i = 0; i < s.n; i++) {
        min = V::lesser(x[i].v, min.v);
        max = V::greater(x[i].v, max.v);
        sums.scale += w[i];
        sums.min += w[i] * x[i];
    }
    min = (zero < min).pick(zero, min);
    const Where<V> flat = max <= min;
    const Lane<V> flat_min = min;
    Lane<V> best_iscale = Lane<V>(s.n_max) / (max - min), best_from = min;
    Lane<V> scale = Lane<V>(1.0f) / best_iscale;
    for (int i = 0; i < s.n; i++) codes->set(i, line_code(best_iscale, x[i], min, s.n_max));
    Lane<V> best = line_error(s, x, w, *codes, scale, min);
    for (int step = 0; step <= s.n_steps; step++) {
        const float wanted = s.first + s.step * static_cast<float>(step) + s.n_max;
        const Lane<V> iscale = Lane<V>(wanted) / (max - min);
        Where<V> valid;
        const LineFit<V> fit = fit_line(s, x, w, codes, iscale, min, sums, &valid);
        const Lane<V> error = line_error(s, x, w, *codes, fit.scale, fit.min);
        const Where<V> better = valid & (error < best);
        best = better.pick(error, best);
        best_iscale = better.pick(iscale, best_iscale);
        best_from = better.pick(min, best_from);
        scale = better.pick(fit.scale, scale);
        min = better.pick(fit.min, min);
    }
    for (int i = 0; i < s.n; i++)
        codes->set(i, flat.pick(zero, line_code(best_iscale, x[i], best_from, s.n_max)));
    return {flat.pick(zero, scale), -flat.pick(flat_min, min)};
}

} // namespace
} // namespace kernels
} // namespace ggufx
