// MoE routing with a total order of experts: the larger selection value first, then the lower
// index. A NaN is less than everything. So the result does not depend on the sort algorithm.
// SPDX-License-Identifier: MIT
#include "run/ops/route.hpp"

#include "base/math.hpp"

#include <algorithm>
#include <math.h>

namespace ggufx::model {

namespace {

constexpr size_t kMost = 1024; // kMaxExperts

// Values that experts are selected by.
class Choice {
public:
    Choice(const float *scores, const float *bias) : scores_(scores), bias_(bias) {}
    float operator[](uint32_t i) const { return bias_ ? scores_[i] + bias_[i] : scores_[i]; }
    bool before(uint32_t a, uint32_t b) const {
        const float x = (*this)[a], y = (*this)[b];
        const bool no_x = isnan(x), no_y = isnan(y);
        if (no_x != no_y) return no_y;
        if (x != y && !no_x) return x > y;
        return a < b;
    }

private:
    const float *scores_, *bias_;
};

// Returns the sum of the two best of a group.
float group_score(const Choice &choice, uint32_t first, uint32_t n) {
    float best = -INFINITY, second = -INFINITY;
    for (uint32_t i = first; i < first + n; i++) {
        const float x = choice[i];
        if (x > best) {
            second = best;
            best = x;
        } else if (x > second) {
            second = x;
        }
    }
    return best + second;
}

// Writes the ids of experts that may be chosen; returns their number.
uint32_t candidates(const op::Route &s, const Choice &choice, uint32_t *out) {
    const uint32_t n = s.scores.width;
    if (s.groups <= 1) {
        for (uint32_t i = 0; i < n; i++) out[i] = i;
        return n;
    }
    const uint32_t size = n / s.groups;
    float score[kMost / 2];
    uint32_t order[kMost / 2];
    for (uint32_t g = 0; g < s.groups; g++) {
        score[g] = group_score(choice, g * size, size);
        order[g] = g;
    }
    const Choice by_score(score, nullptr);
    std::partial_sort(order, order + s.groups_used, order + s.groups,
                      [&](uint32_t a, uint32_t b) { return by_score.before(a, b); });
    uint32_t count = 0;
    for (uint32_t g = 0; g < s.groups_used; g++)
        for (uint32_t i = 0; i < size; i++) out[count++] = order[g] * size + i;
    return count;
}

} // namespace

void route(const kernels::RowKernels &rows, const op::Route &s, float *scores, const float *bias,
           uint32_t *ids, float *weights) {
    const uint32_t n = s.scores.width, used = s.ids.width;
    if (s.gating == Gating::softmax) rows.softmax(scores, n);
    if (s.gating == Gating::sigmoid)
        for (uint32_t i = 0; i < n; i++) scores[i] = 1.0f / (1.0f + exp_f32(-scores[i]));
    const Choice choice(scores, bias);
    uint32_t order[kMost];
    const uint32_t count = candidates(s, choice, order);
    std::partial_sort(order, order + used, order + count,
                      [&](uint32_t a, uint32_t b) { return choice.before(a, b); });
    float sum = 0;
    for (uint32_t k = 0; k < used; k++) {
        ids[k] = order[k];
        weights[k] = scores[order[k]];
    }
    if (s.gating == Gating::softmax_chosen) rows.softmax(weights, used);
    for (uint32_t k = 0; k < used; k++) sum += weights[k];
    const float least = 0x1p-14f;
    for (uint32_t k = 0; k < used && s.normalize; k++) weights[k] /= sum > least ? sum : least;
    for (uint32_t k = 0; k < used && s.scale != 1; k++) weights[k] *= s.scale;
}

} // namespace ggufx::model
