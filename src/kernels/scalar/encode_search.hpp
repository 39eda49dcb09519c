// Scale searches of block types: n values x, weights w, output codes. Each returns the scale. Sums
// are in the order of the values, products left to right.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/encode_blocks.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr int kMaxGroup = 32; // most values per search

// Weighted sums of one candidate.
struct FitSums {
    float lx = 0.0f, l2 = 0.0f;
    void add(float w, float x, int l) {
        lx += w * x * to_f32(l);
        l2 += w * to_f32(l) * to_f32(l);
    }
    void remove(float w, float x, int l) {
        lx -= w * x * to_f32(l);
        l2 -= w * to_f32(l) * to_f32(l);
    }
    float ratio() const { return l2 > 0.0f ? lx / l2 : 0.0f; }
};

inline void zero_codes(uint8_t *codes, int n) {
    for (int i = 0; i < n; i++) codes[i] = 0;
}

inline FitSums signed_sums(int n, int n_max, const float *x, const float *w, float iscale) {
    FitSums sums;
    for (int i = 0; i < n; i++) {
        const int l = clamp(nearest(iscale * x[i]), -n_max, n_max - 1);
        sums.add(w ? w[i] : x[i] * x[i], x[i], l);
    }
    return sums;
}

inline void signed_codes(int n, int n_max, const float *x, uint8_t *codes, float iscale) {
    for (int i = 0; i < n; i++)
        codes[i] = low8(n_max + clamp(nearest(iscale * x[i]), -n_max, n_max - 1));
}

// Replaces the code of one value by `to` if the group then fits better; returns whether it did.
// without: the sums without this value.
inline bool better(FitSums *sums, FitSums without, float w, float x, int to) {
    without.add(w, x, to);
    if (!(without.l2 > 0.0f)) return false;
    if (!(without.lx * without.lx * sums->l2 > sums->lx * sums->lx * without.l2)) return false;
    *sums = without;
    return true;
}

// Codes 0 .. 2*n_max-1 represent -n_max .. n_max-1 ("QX"). w null: weights x^2. All zero: codes 0,
// scale 0.
inline float fit_signed(int n, int n_max, const float *x, uint8_t *codes, const float *w) {
    const float max = signed_largest(x, n);
    if (magnitude(max) < kTiny) {
        zero_codes(codes, n);
        return 0.0f;
    }
    float iscale = to_f32(-n_max) / max;
    signed_codes(n, n_max, x, codes, iscale);
    FitSums sums = signed_sums(n, n_max, x, w, iscale);
    float scale = sums.l2 != 0.0f ? sums.lx / sums.l2 : 0.0f;
    float best = scale * sums.lx;
    for (int step = -9; step <= 9; step++) {
        if (step == 0) continue;
        iscale = -(to_f32(n_max) + 0.1f * to_f32(step)) / max;
        sums = signed_sums(n, n_max, x, w, iscale);
        if (sums.l2 > 0.0f && sums.lx * sums.lx > best * sums.l2) {
            signed_codes(n, n_max, x, codes, iscale);
            scale = sums.lx / sums.l2;
            best = scale * sums.lx;
        }
    }
    return scale;
}

// The same by coordinate descent with weights x^2 ("Q3Q").
inline float fit_descent(int n, int n_max, const float *x, uint8_t *codes) {
    const float max = signed_largest(x, n);
    zero_codes(codes, n);
    if (magnitude(max) < kTiny) return 0.0f;
    const float iscale = to_f32(-n_max) / max;
    int l[kMaxGroup];
    FitSums sums;
    for (int i = 0; i < n; i++) {
        l[i] = clamp(nearest(iscale * x[i]), -n_max, n_max - 1);
        sums.add(x[i] * x[i], x[i], l[i]);
    }
    bool changed = true;
    for (int pass = 0; pass < 5 && changed; pass++) {
        changed = false;
        for (int i = 0; i < n; i++) {
            const float w = x[i] * x[i];
            FitSums without = sums;
            without.remove(w, x[i], l[i]);
            if (!(without.lx > 0.0f)) continue;
            const int next = clamp(nearest(x[i] * without.l2 / without.lx), -n_max, n_max - 1);
            if (next == l[i] || !better(&sums, without, w, x[i], next)) continue;
            l[i] = next;
            changed = true;
        }
    }
    for (int i = 0; i < n; i++) codes[i] = low8(l[i] + n_max);
    return sums.ratio();
}

// Returns the inverse scale of least squared error among (n_max + 0.1 * (-4 .. 4)) / max.
inline float best_positive_scale(int n, int n_max, const float *x, const float *w, float max) {
    float best_iscale = to_f32(n_max) / max, best = 0.0f;
    const float first = 1.0f / best_iscale;
    for (int i = 0; i < n; i++) {
        // The first candidate uses its codes as bytes: a negative x wraps.
        const float diff = x[i] - first * to_f32(low8(nearest(best_iscale * x[i])));
        best += w[i] * diff * diff;
    }
    for (int step = -4; step <= 4; step++) {
        if (step == 0) continue;
        const float iscale = (0.1f * to_f32(step) + to_f32(n_max)) / max, scale = 1.0f / iscale;
        float error = 0.0f;
        for (int i = 0; i < n; i++) {
            const float diff = x[i] - scale * to_f32(at_most(nearest(iscale * x[i]), n_max));
            error += w[i] * diff * diff;
        }
        if (error < best) {
            best = error;
            best_iscale = iscale;
        }
    }
    return best_iscale;
}

// Codes 0 .. n_max >= 0 ("QP"); also fits scales and minimums of sub-blocks.
inline float fit_positive(int n, int n_max, const float *x, uint8_t *codes, const float *w) {
    float max = 0.0f;
    for (int i = 0; i < n; i++) max = max > x[i] ? max : x[i];
    zero_codes(codes, n);
    if (max < kTiny) return 0.0f;
    const float iscale = best_positive_scale(n, n_max, x, w, max);
    FitSums sums;
    for (int i = 0; i < n; i++) {
        const int l = at_most(nearest(iscale * x[i]), n_max);
        codes[i] = low8(l);
        sums.add(w[i], x[i], l);
    }
    bool changed = true;
    for (int pass = 0; pass < 5 && changed; pass++) {
        changed = false;
        for (int i = 0; i < n; i++) {
            FitSums without = sums;
            without.remove(w[i], x[i], codes[i]);
            if (!(without.lx > 0.0f && without.l2 > 0.0f)) continue;
            const int next = at_most(nearest(x[i] * without.l2 / without.lx), n_max);
            if (next == codes[i]) continue;
            FitSums with = without;
            with.add(w[i], x[i], next);
            if (!(with.lx * with.lx * sums.l2 > sums.lx * sums.lx * with.l2)) continue;
            sums = with;
            codes[i] = low8(next);
            changed = true;
        }
    }
    return sums.ratio();
}

// value = scale * code - *min, min >= 0 ("QKX2", "QKX3").
struct MinSearch {
    int n, n_max;
    float first, step; // candidates: n_max + first + i * step
    int n_steps;
    bool absolute; // error: sum of w * |difference| instead of w * difference^2
    bool weighted; // "QKX3": with an imatrix; a constant group has max <= min
};

// Returns the error of scale * code + min.
inline float error_of(const MinSearch &s, const float *x, const float *w, const uint8_t *codes,
                      float scale, float min) {
    float error = 0.0f;
    for (int i = 0; i < s.n; i++) {
        float diff = scale * to_f32(codes[i]) + min - x[i];
        diff = s.absolute ? magnitude(diff) : diff * diff;
        error += w[i] * diff;
    }
    return error;
}

// Least-squares sums of one set of codes.
struct LineSums {
    float w = 0.0f, x = 0.0f, l = 0.0f, l2 = 0.0f, xl = 0.0f;
    void add(float weight, float value, int code) {
        l += weight * to_f32(code);
        l2 += weight * to_f32(code) * to_f32(code);
        xl += weight * to_f32(code) * value;
    }
    bool fit(float *scale, float *min) const {
        const float d = w * l2 - l * l;
        if (!(d > 0.0f)) return false;
        *scale = (w * xl - x * l) / d;
        *min = (l2 * x - l * xl) / d;
        if (*min > 0.0f) {
            *min = 0.0f;
            *scale = xl / l2;
        }
        return true;
    }
};

inline float fit_with_min(const MinSearch &s, const float *x, const float *w, uint8_t *codes,
                          float *min_out) {
    float min = x[0], max = x[0];
    LineSums start;
    for (int i = 0; i < s.n; i++) {
        if (x[i] < min) min = x[i];
        if (x[i] > max) max = x[i];
        start.w += w[i];
        start.x += w[i] * x[i];
    }
    if (min > 0.0f) min = 0.0f;
    if (s.weighted ? max <= min : max == min) {
        zero_codes(codes, s.n);
        *min_out = -min;
        return 0.0f;
    }
    const float iscale = to_f32(s.n_max) / (max - min);
    float scale = 1.0f / iscale;
    for (int i = 0; i < s.n; i++)
        codes[i] = low8(clamp(nearest(iscale * (x[i] - min)), 0, s.n_max));
    float best = error_of(s, x, w, codes, scale, min);
    for (int step = 0; step <= s.n_steps; step++) {
        const float candidate = (s.first + s.step * to_f32(step) + to_f32(s.n_max)) / (max - min);
        uint8_t tried[kMaxGroup];
        LineSums sums = start;
        for (int i = 0; i < s.n; i++) {
            const int l = clamp(nearest(candidate * (x[i] - min)), 0, s.n_max);
            tried[i] = low8(l);
            sums.add(w[i], x[i], l);
        }
        float new_scale, new_min;
        if (!sums.fit(&new_scale, &new_min)) continue;
        const float error = error_of(s, x, w, tried, new_scale, new_min);
        if (error < best) {
            __builtin_memcpy(codes, tried, static_cast<size_t>(s.n));
            best = error;
            scale = new_scale;
            min = new_min;
        }
    }
    *min_out = -min;
    return scale;
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
