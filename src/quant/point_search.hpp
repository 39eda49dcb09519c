// Local search in a block with a codebook. Points are chosen among those near the nearest levels.
// Sub-scales vary by a few steps, each with its best points, signs and shifts. The f16 scale is the
// least-squares fit of these. Repeats until the error stops decreasing.
// SPDX-License-Identifier: MIT
#pragma once

#include "base/round.hpp"
#include "quant/best.hpp"

#include <float.h>
#include <string.h>

namespace ggufx::quant {

using namespace rounding;

constexpr int kPointPasses = 4, kMaxSub = 32;
constexpr float kShift = 0.125f;

// Unpacked block.
struct PointState {
    float d = 0.0f;
    uint8_t scale[16] = {};
    uint8_t level[kGridValues] = {};
    uint8_t minus[kGridValues / 8] = {}; // sign bits of 8 values
    uint8_t down[kGridValues / 8] = {};  // per part; 1: the shift is -1/8
};

// Best levels and signs of a part for one scale.
struct GroupFit {
    uint8_t level[kMaxSub], minus[kMaxSub / 8];
    float error;
};

class PointSearch {
public:
    PointSearch(const GridLayout &layout, const kernels::GridLists &grid, const float *x,
                const float *w)
        : l_(layout), grid_(grid), x_(x), w_(w), n_levels_(layout.n_dims == 4 ? 8 : 3),
          n_sub_(kGridValues / layout.sub), parts_(layout.sub / layout.part) {}

    void take_apart(PointState *s, const uint8_t *block) const {
        s->d = f16_to_f32(grid_scale(block, l_.type));
        for (int k = 0; k < n_sub_; k++)
            s->scale[k] = low8(fmt::read_field(block, l_.scale(unsigned(k))));
    }
    void put_together(uint8_t *block, const PointState &s) const {
        set_grid_scale(block, l_.type, f32_to_f16(s.d));
        for (int k = 0; k < n_sub_; k++) fmt::write_field(block, l_.scale(unsigned(k)), s.scale[k]);
        for (int g = 0; g < kGridValues / l_.n_dims; g++) {
            const int index = kernels::grid_index(
                grid_, kernels::grid_key(grid_, s.level + ptrdiff_t{l_.n_dims} * g));
            fmt::write_field(block, l_.low_index(unsigned(g)), index & 255);
            if (l_.high_index) fmt::write_field(block, l_.high_index(unsigned(g)), index >> 8);
        }
        for (int k = 0; l_.sign_bits && k < kGridValues / 8; k++)
            fmt::write_field(block, l_.signs(unsigned(k)), s.minus[k] & ((1 << l_.sign_bits) - 1));
        for (int p = 0; l_.shifts && p < kGridValues / l_.part; p++)
            fmt::write_field(block, l_.shift(unsigned(p)), s.down[p]);
    }

    // Repeats the local search from the scales of s and recomputes the codes. Returns the error.
    double descend(PointState *s, int reach) const {
        double least = DBL_MAX;
        PointState next = *s;
        for (int pass = 0; pass < kPointPasses; pass++) {
            double error = 0;
            for (int k = 0; k < n_sub_; k++) error += best_scale(&next, k, pass == 0 ? reach : 1);
            if (!(error < least)) break;
            *s = next, least = error;
            if (!refit(&next)) break;
        }
        return least;
    }

    // Chooses levels and signs of 8 values; returns their error.
    float place_eight(uint8_t *level, uint8_t *minus, int first, const float *table) const {
        *minus = 0;
        return l_.sign_bits ? choose_signed(level, minus, first, table)
                            : choose(level, x_ + first, first, table);
    }
    // Writes the values of the levels in a part, at a scale.
    void fill_table(float *table, float u, bool is_down) const {
        const float shift = !l_.shifts ? 0.0f : is_down ? -kShift : kShift;
        for (int q = 0; q < n_levels_; q++) table[q] = u * (l_.levels[q] + shift);
    }

protected:
    float weight(int i) const { return w_ ? w_[i] : 1.0f; }
    float factor(int scale) const { return l_.unit * to_f32(2 * scale + 1); }

    // Chooses the levels of a group for the level values in `table`; returns their error.
    float choose(uint8_t *level, const float *xval, int first, const float *table) const {
        float errors[8][8];
        float error = 0.0f;
        for (int i = 0; i < l_.n_dims; i++) {
            int nearest = 0;
            for (int q = 0; q < n_levels_; q++) {
                const float diff = xval[i] - table[q];
                errors[i][q] = weight(first + i) * diff * diff;
                if (errors[i][q] < errors[i][nearest]) nearest = q;
            }
            level[i] = low8(nearest);
            // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): a grid has levels
            error += errors[i][nearest];
        }
        const unsigned key = kernels::grid_key(grid_, level);
        if (kernels::grid_index(grid_, key) >= 0) return error;
        int n;
        const uint16_t *list = kernels::grid_list(grid_, key, &n);
        unsigned best = list[0];
        error = FLT_MAX;
        for (int k = 0; k < n; k++) {
            float sum = 0.0f;
            for (int i = 0; i < l_.n_dims; i++)
                sum += errors[i][kernels::grid_level(grid_, list[k], i)];
            if (sum < error) error = sum, best = list[k];
        }
        kernels::grid_levels(grid_, level, best);
        return error;
    }

    // Chooses 8 magnitudes for codes with an even number of minus signs: value `turned` (-1: none)
    // gets the wrong sign. Returns the error.
    float choose_turned(uint8_t *level, int first, const float *table, int turned) const {
        float xval[8], error = 0.0f;
        for (int i = 0; i < 8; i++) xval[i] = magnitude(x_[first + i]);
        if (turned >= 0) xval[turned] = -xval[turned];
        for (int i = 0; i < 8; i += l_.n_dims)
            error += choose(level + i, xval + i, first + i, table);
        return error;
    }
    // Returns the value whose wrong sign costs least at these magnitudes.
    int cheapest(int first, const float *values) const {
        int best = 0;
        for (int i = 1; i < 8; i++)
            if (weight(first + i) * magnitude(x_[first + i]) * values[i] <
                weight(first + best) * magnitude(x_[first + best]) * values[best])
                best = i;
        return best;
    }
    // Chooses 8 magnitudes and their signs.
    float choose_signed(uint8_t *level, uint8_t *minus, int first, const float *table) const {
        unsigned signs = 0;
        float values[8];
        for (int i = 0; i < 8; i++) {
            signs |= (x_[first + i] < 0.0f ? 1u : 0u) << i;
            values[i] = magnitude(x_[first + i]);
        }
        if (l_.sign_bits == 8 || __builtin_popcount(signs) % 2 == 0) {
            *minus = low8(static_cast<int>(signs));
            return choose_turned(level, first, table, -1);
        }
        int turned = cheapest(first, values);
        float error = choose_turned(level, first, table, turned);
        for (int i = 0; i < 8; i++) values[i] = table[level[i]];
        const int other = cheapest(first, values);
        uint8_t tried[8];
        const float second = other == turned ? error : choose_turned(tried, first, table, other);
        if (second < error) {
            memcpy(level, tried, sizeof tried);
            error = second, turned = other;
        }
        *minus = low8(static_cast<int>(signs ^ 1u << turned));
        return error;
    }

    void place_part(GroupFit *to, int first, const float *table) const {
        to->error = 0.0f;
        for (int at = 0; at < l_.part; at += 8)
            to->error += place_eight(to->level + at, to->minus + at / 8, first + at, table);
    }
    // Chooses all codes of sub-block k for a scale, writes them to s and returns their error.
    double place(PointState *s, int k, int scale) const {
        const float u = s->d * factor(scale);
        double error = 0;
        s->scale[k] = low8(scale);
        for (int p = k * parts_; p < (k + 1) * parts_; p++) {
            GroupFit best, other;
            float table[8];
            int down = 0;
            fill_table(table, u, false);
            place_part(&best, p * l_.part, table);
            if (l_.shifts) {
                fill_table(table, u, true);
                place_part(&other, p * l_.part, table);
                if (other.error < best.error) best = other, down = 1;
            }
            memcpy(s->level + ptrdiff_t{p} * l_.part, best.level, static_cast<size_t>(l_.part));
            memcpy(s->minus + p * l_.part / 8, best.minus, static_cast<size_t>(l_.part / 8));
            s->down[p] = low8(down);
            error += static_cast<double>(best.error);
        }
        return error;
    }
    double best_scale(PointState *s, int k, int reach) const {
        const int from = s->scale[k];
        int best = from;
        double least = place(s, k, from);
        for (int scale = from - reach; scale <= from + reach; scale++) {
            if (scale == from || scale < 0 || scale >= l_.n_scales) continue;
            const double error = place(s, k, scale);
            if (error < least) least = error, best = scale;
        }
        return place(s, k, best);
    }

    // Fits d by least squares; returns false if it stays.
    bool refit(PointState *s) const {
        double aa = 0, ax = 0;
        for (int i = 0; i < kGridValues; i++) {
            const float shift = !l_.shifts ? 0.0f : s->down[i / l_.part] ? -kShift : kShift;
            const float value = factor(s->scale[i / l_.sub]) * (l_.levels[s->level[i]] + shift);
            const auto a = static_cast<double>(s->minus[i / 8] >> (i % 8) & 1 ? -value : value);
            const auto w = static_cast<double>(weight(i));
            aa += w * a * a, ax += w * a * static_cast<double>(x_[i]);
        }
        const float d = aa > 0 ? f16_to_f32(f32_to_f16(static_cast<float>(ax / aa))) : 0.0f;
        if (d == s->d || !(d > 0.0f && d <= 65504.0f)) return false;
        s->d = d;
        return true;
    }

    const GridLayout &l_;
    const kernels::GridLists &grid_;
    const float *x_, *w_;
    const int n_levels_, n_sub_, parts_;
};

} // namespace ggufx::quant
