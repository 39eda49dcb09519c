// The numbers of a block as a descent changes them: codes one by one, points of a codebook for 8
// values at once, scales and minimums.
// SPDX-License-Identifier: MIT
#pragma once

#include "quant/code_numbers.hpp"
#include "quant/point_search.hpp"

#include <float.h>

namespace ggufx::quant {

namespace {

// Returns the whole step nearest to `wanted` that keeps old + step in 0 .. n - 1.
inline int whole_step(float wanted, int old, int n) {
    if (!(magnitude(wanted) < 4096.0f)) return 0;
    return clamp(old + nearest(wanted), 0, n - 1) - old;
}

// A block scale that can be stored: a finite f16 that is not 0.
inline bool is_scale(float d) {
    return magnitude(d) > 0.0f && magnitude(d) <= 65504.0f;
}

} // namespace

// Blocks of codes and scales.
class FeedbackCodes : public CodeNumbers {
public:
    using State = CodeState;
    static constexpr int kStep = 1; // values chosen at once

    FeedbackCodes(const BlockLayout &layout, const kernels::GridLists *) : CodeNumbers(layout) {}

    int n_values() const { return l_.n_values; }
    int group() const { return group_; }

    // Returns false for a block that stays as it is.
    bool unpack(State *s, const uint8_t *block, const float *) const {
        take_apart(s, block);
        return is_scale(s->d) && magnitude(s->dmin) <= 65504.0f;
    }
    void pack(uint8_t *block, const State &s) const { put_together(block, s); }

    float value(const State &s, int i) const {
        const int k = i / group_;
        return s.d * scale_value(s.scale[k]) * level(s.code[i]) - s.dmin * to_f32(s.min[k]);
    }
    // Chooses the code of value i nearest to `wanted`.
    void choose(State *s, int i, const float *wanted, const float *) const {
        const int k = i / group_;
        const float d = s->d * scale_value(s->scale[k]);
        s->code[i] = low8(nearest_code((*wanted + s->dmin * to_f32(s->min[k])) * inverse(d)));
    }

    // ---- directions: the change of a value per unit of a number

    bool has_scales() const { return l_.n_scales > 1; }
    float per_scale(const State &s, int i) const {
        const int k = i / group_;
        const int other = s.scale[k] + 1 < l_.n_scales ? s.scale[k] + 1 : s.scale[k] - 1;
        const float unit =
            l_.scale_value ? magnitude(scale_value(other) - scale_value(s.scale[k])) : 1.0f;
        return s.d * unit * level(s.code[i]);
    }
    void move_scale(State *s, int group, float wanted) const {
        // scales that are not linear move by one step
        if (l_.scale_value) wanted = wanted > 0.5f ? 1.0f : wanted < -0.5f ? -1.0f : 0.0f;
        s->scale[group] += whole_step(wanted, s->scale[group], l_.n_scales);
    }
    bool has_mins() const { return l_.n_mins > 1; }
    float per_min(const State &s) const { return -s.dmin; }
    void move_min(State *s, int group, float wanted) const {
        s->min[group] += whole_step(wanted, s->min[group], l_.n_mins);
    }
    bool has_d() const { return l_.d >= 0; }
    float per_d(const State &s, int i) const {
        return scale_value(s.scale[i / group_]) * level(s.code[i]);
    }
    void move_d(State *s, float wanted) const {
        const float d = rounded_f16(s->d + wanted);
        if (is_scale(d)) s->d = d;
    }
    bool has_dmin() const { return l_.n_mins > 0; }
    float per_dmin(const State &s, int i) const { return -to_f32(s.min[i / group_]); }
    void move_dmin(State *s, float wanted) const {
        const float dmin = rounded_f16(s->dmin + wanted);
        if (magnitude(dmin) <= 65504.0f) s->dmin = dmin;
    }
};

// Blocks with a codebook.
class FeedbackPoints : public PointSearch {
public:
    using State = PointState;
    static constexpr int kStep = 8;

    FeedbackPoints(const GridLayout &layout, const kernels::GridLists *grid)
        : PointSearch(layout, *grid, nullptr, nullptr) {}

    int n_values() const { return kGridValues; }
    int group() const { return l_.sub; }

    // values: the dequantized block, which has the levels.
    bool unpack(State *s, const uint8_t *block, const float *values) const {
        take_apart(s, block);
        for (int p = 0; p < kGridValues / l_.part; p++)
            s->down[p] =
                l_.shifts ? low8(fmt::read_field(block, l_.shift(unsigned(p)))) : uint8_t{0};
        for (int k = 0; k < kGridValues / 8; k++) {
            const int stored = l_.sign_bits ? fmt::read_field(block, l_.signs(unsigned(k))) : 0;
            const bool is_odd = l_.sign_bits == 7 && __builtin_popcount(unsigned(stored)) % 2;
            s->minus[k] = low8(stored | (is_odd ? 128 : 0));
        }
        for (int i = 0; i < kGridValues; i++) s->level[i] = level_of(*s, i, values[i]);
        return s->d > 0.0f && s->d <= 65504.0f;
    }
    void pack(uint8_t *block, const State &s) const { put_together(block, s); }

    float value(const State &s, int i) const {
        const float v = s.d * factor(s.scale[i / l_.sub]) * (l_.levels[s.level[i]] + shift(s, i));
        return is_minus(s, i) ? -v : v;
    }
    // Chooses the points and signs of 8 values near `wanted`, weighted by `weights`.
    void choose(State *s, int first, const float *wanted, const float *weights) const {
        const PointSearch search(l_, grid_, wanted, weights);
        float table[8];
        search.fill_table(table, s->d * factor(s->scale[first / l_.sub]),
                          s->down[first / l_.part] != 0);
        search.place_eight(s->level + first, s->minus + first / 8, 0, table);
    }

    bool has_scales() const { return true; }
    float per_scale(const State &s, int i) const { return 2.0f * l_.unit * s.d * per_factor(s, i); }
    void move_scale(State *s, int group, float wanted) const {
        s->scale[group] = low8(s->scale[group] + whole_step(wanted, s->scale[group], l_.n_scales));
    }
    bool has_mins() const { return false; }
    float per_min(const State &) const { return 0.0f; }
    void move_min(State *, int, float) const {}
    bool has_d() const { return true; }
    float per_d(const State &s, int i) const {
        return factor(s.scale[i / l_.sub]) * per_factor(s, i);
    }
    void move_d(State *s, float wanted) const {
        const float d = rounded_f16(s->d + wanted);
        if (d > 0.0f && d <= 65504.0f) s->d = d;
    }
    bool has_dmin() const { return false; }
    float per_dmin(const State &, int) const { return 0.0f; }
    void move_dmin(State *, float) const {}

private:
    static bool is_minus(const State &s, int i) { return s.minus[i / 8] >> (i % 8) & 1; }
    float shift(const State &s, int i) const {
        return !l_.shifts ? 0.0f : s.down[i / l_.part] ? -kShift : kShift;
    }
    // The level of value i with shift and sign.
    float per_factor(const State &s, int i) const {
        const float v = l_.levels[s.level[i]] + shift(s, i);
        return is_minus(s, i) ? -v : v;
    }
    uint8_t level_of(const State &s, int i, float value) const {
        const float u = s.d * factor(s.scale[i / l_.sub]);
        const float wanted = (is_minus(s, i) ? -value : value) * inverse(u) - shift(s, i);
        int best = 0;
        for (int q = 1; q < n_levels_; q++)
            if (magnitude(l_.levels[q] - wanted) < magnitude(l_.levels[best] - wanted)) best = q;
        return low8(best);
    }
};

} // namespace ggufx::quant
