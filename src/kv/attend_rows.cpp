// Visible tokens of rows in a page; scores to softmax weights.
// SPDX-License-Identifier: MIT
#include "kv/attend_rows.hpp"

#include "base/math.hpp"

#include <string.h>

namespace ggufx::kv {

using namespace kernels;

namespace {

// Returns the slots of a page that a row sees; positions do not descend within a page.
KvTokens visible(const PageRef &page, const Row &row) {
    const int32_t *position = page.block->positions;
    const int64_t delta = page.delta;
    const Span sees = row.sees;
    uint32_t first = page.first, end = uint32_t(page.first) + page.n;
    if (position[first] + delta > sees.until || position[end - 1] + delta <= sees.after)
        return {end, end};
    while (position[end - 1] + delta > sees.until) end--;
    while (first < end && position[first] + delta <= sees.after) first++;
    return {first, end};
}

// cap * tanh(s / cap) by the exp of docs/reproducibility/attention.md.
float soft_cap(float s, float cap) {
    float x = s / cap * 2.0f;
    x = x > 20.0f ? 20.0f : x < -20.0f ? -20.0f : x;
    return cap * (1.0f - 2.0f / (exp_f32(x) + 1.0f));
}

void adjust_scores(const AttendCall &call, const Row &row, const PageRef &page, KvTokens tokens,
                   float *s) {
    const float cap = call.options.softcap;
    const float *slopes = call.options.alibi_slopes;
    for (uint32_t t = tokens.first; cap != 0.0f && t < tokens.end; t++) s[t] = soft_cap(s[t], cap);
    for (uint32_t t = tokens.first; slopes && t < tokens.end; t++) {
        int64_t distance = int64_t(page.block->positions[t]) + page.delta - row.position;
        if (call.options.alibi_both_sides && distance > 0) distance = -distance;
        s[t] = __builtin_fmaf(slopes[row.head], static_cast<float>(distance), s[t]);
    }
}

} // namespace

void Visible::take(uint32_t r, KvTokens tokens) {
    row[r] = tokens;
    if (tokens.first >= tokens.end) return;
    if (tokens.first < all.first) all.first = tokens.first;
    if (tokens.end > all.end) all.end = tokens.end;
}

Visible::Visible(const PageRef &page, const Group &group) : all{kKvTokens, 0} {
    for (uint32_t r = 0; r < group.n_rows; r++) {
        const Row &now = group.rows[r], &last = group.rows[r ? r - 1 : 0];
        const bool same =
            r && now.sees.until == last.sees.until && now.sees.after == last.sees.after;
        take(r, same ? row[r - 1] : visible(page, now));
    }
}

bool stands_in(const PageRef &page, const PageRef *behind, const Row &row) {
    const PageRef *next = &page + 1;
    return next == behind || row.sees.until < position_at(*next, 0);
}

Visible Visible::part(const PageRef &page, const PageRef *behind, const Group &group,
                      bool own) const {
    constexpr KvTokens kNone = {kKvTokens, 0};
    Visible some = *this;
    some.all = kNone;
    for (uint32_t r = 0; r < group.n_rows; r++)
        some.take(r, stands_in(page, behind, group.rows[r]) == own ? row[r] : kNone);
    return some;
}

void weigh_rows(const AttendCall &call, const Group &group, const PageRef &page,
                const Visible &seen, SumBasis basis, float *s, RowSums &sums) {
    const bool adjusts = call.options.softcap != 0.0f || call.options.alibi_slopes;
    const uint32_t stride = kv_sum_floats(call.state->config.sum_dim());
    for (uint32_t r = 0; r < group.width; r++, s += kKvTokens) {
        const bool none = r >= group.n_rows || seen.row[r].first >= seen.row[r].end;
        if (none || sums.not_finite[r]) {
            memset(s, 0, kKvTokens * sizeof *s);
            continue;
        }
        if (adjusts) adjust_scores(call, group.rows[r], page, seen.row[r], s);
        const float factor = call.kernels->weigh(s, seen.row[r], &sums.m[r], &sums.l[basis][r]);
        if (factor != factor) {
            sums.not_finite[r] = true;
            memset(s, 0, kKvTokens * sizeof *s);
            continue;
        }
        if (factor == 1.0f) continue;
        sums.l[1 - basis][r] *= factor;
        for (uint32_t b = 0; b < kSums; b++)
            if (sums.used[b]) call.kernels->scale(sums.o[b] + size_t{r} * stride, factor, stride);
    }
}

float *sums_of(const AttendCall &call, const Group &group, SumBasis basis, RowSums &sums) {
    float *o = sums.o[basis];
    const uint32_t stride = kv_sum_floats(call.state->config.sum_dim());
    if (!sums.used[basis]) memset(o, 0, size_t{group.width} * stride * sizeof(float));
    sums.used[basis] = true;
    return o;
}

} // namespace ggufx::kv
