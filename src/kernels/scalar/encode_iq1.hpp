// Encoders of IQ1_S and IQ1_M. Groups of 8 are points of a codebook of -1, 0, 1, all shifted up or
// down by 1/8. The values are sorted, and every partition into three levels is tried.
// SPDX-License-Identifier: MIT
#pragma once

#include "kernels/scalar/encode_grid.hpp"

namespace ggufx {
namespace kernels {
namespace scalar {
namespace {

constexpr float kUp[3] = {-0.875f, 0.125f, 1.125f};
constexpr float kDown[3] = {-1.125f, -0.125f, 0.875f};

// Sorts positions in ascending order of their values; stable.
inline void sort_values(uint8_t *order, const float *x, int n) {
    for (int i = 0; i < n; i++) {
        int at = i;
        for (; at > 0 && x[i] < x[order[at - 1]]; at--) order[at] = order[at - 1];
        order[at] = low8(i);
    }
}

// In sorted order, the first `first` values get level 0, those before `second` level 1, the rest
// level 2.
struct Cut {
    int first = 0, second = 0;
    void set_levels(uint8_t *levels, const uint8_t *order, int n) const {
        for (int j = 0; j < n; j++) levels[order[j]] = j < first ? 0 : j < second ? 1 : 2;
    }
};

struct Best {
    float score = -FLT_MAX, scale = 0.0f;
    bool found = false; // false if all weights are zero
    Cut cut;
    int shifts = 0;
    void offer(float qx, float q2, Cut c, int s) {
        if (!(q2 > 0.0f && qx * qx > score * q2)) return;
        scale = qx / q2;
        score = scale * qx;
        found = true;
        cut = c;
        shifts = s;
    }
};

// Replaces levels off the grid by the nearest listed point; returns true if it did.
inline bool move_to_grid(uint8_t *levels, const GridLists &grid, const float *x, const float *w,
                         float scale, const float *values) {
    const unsigned key = grid_key(grid, levels);
    if (grid_index(grid, key) >= 0) return false;
    int n;
    const uint16_t *list = grid_list(grid, key, &n);
    float least = FLT_MAX;
    unsigned best = list[0];
    for (int k = 0; k < n; k++) {
        float error = 0.0f;
        for (int i = 0; i < 8; i++) {
            const float diff = scale * values[grid_level(grid, list[k], i)] - x[i];
            error += w[i] * diff * diff;
        }
        if (error < least) {
            least = error;
            best = list[k];
        }
    }
    grid_levels(grid, levels, best);
    return true;
}

struct Sums {
    float qx = 0.0f, q2 = 0.0f;
    void add(const uint8_t *levels, const float *x, const float *w, const float *values,
             float factor) {
        for (int i = 0; i < 8; i++) {
            const float q = values[levels[i]] * factor;
            qx += w[i] * q * x[i];
            q2 += w[i] * q * q;
        }
    }
};

// Sets the weights; w = x^2 without an imatrix (only IQ1_M allows that).
inline void set_weights(float *w, const float *x, const float *qw, int n, float sigma2) {
    if (qw) {
        imatrix_weights(w, x, qw, n, sigma2);
    } else {
        for (int i = 0; i < n; i++) w[i] = x[i] * x[i];
    }
}

inline int scale_code3(float id, float scale) {
    return clamp(nearest(0.5f * (id * scale - 1.0f)), 0, 7);
}

struct Fit {
    float scale = 0.0f;
    int shifts = 0; // IQ1_S: 1 = down; IQ1_M: bit 1 = first group down, bit 0 = second
    uint8_t levels[32] = {};
};

// Sets the levels of n values from the best partition; all_shifts is the mask of all shift bits. A
// negative scale is replaced by a positive one with mirrored levels and shifts. Returns false if
// nothing fits; the sub-block then counts as zero.
inline bool take(Fit *f, const Best &best, const uint8_t *order, int n, int all_shifts) {
    if (!best.found) return false;
    const bool mirrored = best.scale < 0.0f;
    best.cut.set_levels(f->levels, order, n);
    f->scale = mirrored ? -best.scale : best.scale;
    f->shifts = mirrored ? best.shifts ^ all_shifts : best.shifts;
    for (int i = 0; mirrored && i < n; i++) f->levels[i] = low8(2 - f->levels[i]);
    return true;
}

// ---- IQ1_S: 32 values, one shift ----

// Sums over the three runs of a partition, from prefix sums.
inline float cut_sum(const float *prefix, Cut c, const float *a) {
    return (prefix[c.first] - prefix[0]) * a[0] + (prefix[c.second] - prefix[c.first]) * a[1] +
           (prefix[32] - prefix[c.second]) * a[2];
}
inline float cut_square(const float *prefix, Cut c, const float *a) {
    return (prefix[c.first] - prefix[0]) * a[0] * a[0] +
           (prefix[c.second] - prefix[c.first]) * a[1] * a[1] +
           (prefix[32] - prefix[c.second]) * a[2] * a[2];
}

inline bool search_s(Fit *f, const float *x, const float *w) {
    uint8_t order[32];
    float sum_x[33], sum_w[33];
    sort_values(order, x, 32);
    sum_x[0] = sum_w[0] = 0.0f;
    for (int j = 0; j < 32; j++) {
        sum_x[j + 1] = sum_x[j] + w[order[j]] * x[order[j]];
        sum_w[j + 1] = sum_w[j] + w[order[j]];
    }
    Best best;
    for (int first = 0; first <= 32; first++) {
        for (int second = first; second <= 32; second++) {
            const Cut c = {first, second};
            best.offer(cut_sum(sum_x, c, kUp), cut_square(sum_w, c, kUp), c, 0);
            best.offer(cut_sum(sum_x, c, kDown), cut_square(sum_w, c, kDown), c, 1);
        }
    }
    return take(f, best, order, 32, 1);
}

inline void encode_iq1_s(fmt::IQ1_S::Block &to, const float *x, const float *qw,
                         const EncodeJob &job) {
    using F = fmt::IQ1_S;
    const GridLists &grid = *job.grid;
    const float sigma2 = 2.0f * sum_squares(x, kSuperBlock) / to_f32(kSuperBlock);
    float scales[8], max_scale = 0.0f;
    int shifts[8] = {};
    for (unsigned ib = 0; ib < 8; ib++) {
        const float *from = x + 32 * ib;
        float w[32];
        Fit f;
        set_weights(w, from, qw + 32 * ib, 32, sigma2);
        scales[ib] = 0.0f;
        if (largest_magnitude(from, 32) < 1e-12f) continue;
        if (!search_s(&f, from, w)) continue;
        const float *values = f.shifts ? kDown : kUp;
        bool moved = false;
        Sums sums;
        for (int k = 0; k < 4; k++) {
            moved |= move_to_grid(f.levels + 8 * k, grid, from + 8 * k, w + 8 * k, f.scale, values);
            sums.add(f.levels + 8 * k, from + 8 * k, w + 8 * k, values, 1.0f);
        }
        if (moved && sums.qx > 0.0f && sums.q2 > 0.0f) f.scale = sums.qx / sums.q2;
        for (unsigned k = 0; k < 4; k++)
            put_index<F>(to, 4 * ib + k, grid_index(grid, grid_key(grid, f.levels + 8 * k)));
        scales[ib] = f.scale;
        shifts[ib] = f.shifts;
        max_scale = max_scale > f.scale ? max_scale : f.scale;
    }
    if (max_scale == 0.0f) return; // the indices stay
    const float d = max_scale / 15.0f, id = 1.0f / d;
    store_f16(to.d, d * 1.125f);
    for (unsigned ib = 0; ib < 8; ib++) {
        write(to, F::scale_at(ib), scale_code3(id, scales[ib]));
        write(to, F::shift_at(ib), shifts[ib] != 0);
    }
}

// ---- IQ1_M: 16 values, a shift for each half ----

// Returns the level values of half k for the shifts.
inline const float *values_of(int shifts, int k) {
    return (k == 0 ? shifts >> 1 : shifts) & 1 ? kDown : kUp;
}

inline bool search_m(Fit *f, const float *x, const float *w) {
    uint8_t order[16];
    sort_values(order, x, 16);
    Best best;
    for (int first = 0; first <= 16; first++) {
        for (int second = first; second <= 16; second++) {
            const Cut c = {first, second};
            float qx[4] = {}, q2[4] = {};
            for (int j = 0; j < 16; j++) {
                const int i = order[j], level = j < first ? 0 : j < second ? 1 : 2;
                for (int s = 0; s < 4; s++) {
                    const float q = values_of(s, i / 8)[level];
                    qx[s] += w[i] * q * x[i];
                    q2[s] += w[i] * q * q;
                }
            }
            for (int s = 0; s < 4; s++) best.offer(qx[s], q2[s], c, s);
        }
    }
    return take(f, best, order, 16, 3);
}

inline bool fit_m(Fit *f, const float *x, const float *w, const GridLists &grid) {
    if (!search_m(f, x, w)) return false;
    bool moved = false;
    Sums sums;
    for (int k = 0; k < 2; k++) {
        const float *values = values_of(f->shifts, k);
        moved |= move_to_grid(f->levels + 8 * k, grid, x + 8 * k, w + 8 * k, f->scale, values);
        sums.add(f->levels + 8 * k, x + 8 * k, w + 8 * k, values, 1.0f);
    }
    if (moved && sums.qx > 0.0f && sums.q2 > 0.0f) f->scale = sums.qx / sums.q2;
    return true;
}

inline void encode_iq1_m(fmt::IQ1_M::Block &to, const float *x, const float *qw,
                         const EncodeJob &job) {
    using F = fmt::IQ1_M;
    const GridLists &grid = *job.grid;
    const float sigma2 = qw ? 2.0f * sum_squares(x, kSuperBlock) / to_f32(kSuperBlock) : 0.0f;
    Fit fits[16];
    float w[kSuperBlock], max_scale = 0.0f;
    set_weights(w, x, qw, kSuperBlock, sigma2);
    for (unsigned ib = 0; ib < 16; ib++) {
        Fit &f = fits[ib];
        grid_levels(grid, f.levels, grid.first_key); // a zero sub-block dequantizes as point 0
        grid_levels(grid, f.levels + 8, grid.first_key);
        if (largest_magnitude(x + 16 * ib, 16) < 1e-7f) continue;
        if (!fit_m(&f, x + 16 * ib, w + 16 * ib, grid)) continue;
        for (unsigned k = 0; k < 2; k++)
            put_index<F>(to, 2 * ib + k, grid_index(grid, grid_key(grid, f.levels + 8 * k)));
        max_scale = max_scale > f.scale ? max_scale : f.scale;
    }
    if (max_scale == 0.0f) return; // the indices stay
    float d = max_scale / 15.0f;
    const float id = 1.0f / d;
    Sums sums;
    for (unsigned ib = 0; ib < 16; ib++) {
        const Fit &f = fits[ib];
        const int code = scale_code3(id, f.scale);
        write(to, F::scale_at(ib), code);
        for (unsigned k = 0; k < 2; k++) {
            const unsigned at = 16 * ib + 8 * k;
            const float *values = values_of(f.shifts, static_cast<int>(k));
            write(to, F::shift_at(2 * ib + k), values == kDown);
            sums.add(f.levels + 8 * k, x + at, w + at, values, to_f32(2 * code + 1));
        }
    }
    if (sums.q2 > 0.0f) d = sums.qx / sums.q2;
    uint8_t stored[2]; // the bits of the f16 scale are stored in four fields
    store_f16(stored, d * 1.1125f);
    for (unsigned i = 0; i < 4; i++) write(to, F::d_at(i), load_u16le(stored) >> (4 * i));
}

} // namespace
} // namespace scalar
} // namespace kernels
} // namespace ggufx
