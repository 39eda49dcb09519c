// Online softmax: visible tokens of rows in a page, scores to weights, chunks merged into totals in
// ascending order, totals to results.
// SPDX-License-Identifier: MIT
#include "base/math.hpp"
#include "kv/attend.hpp"

#include <string.h>

namespace ggufx::kv {

using namespace kernels;

namespace {

uint32_t stride_of(const AttendCall &call) {
    return kv_sum_floats(call.state->config.sum_dim());
}

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
    const uint32_t stride = stride_of(call);
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
    const uint32_t stride = stride_of(call);
    if (!sums.used[basis]) memset(o, 0, size_t{group.width} * stride * sizeof(float));
    sums.used[basis] = true;
    return o;
}

namespace {

constexpr float kInfinity = __builtin_inff();

// Raises the reference of row r of the totals to m; `a` is the factor of the sums so far.
void raise_reference(const AttendCall &call, RowSums &total, uint32_t r, float m, float a) {
    total.m[r] = m;
    for (uint32_t b = 0; b < kSums; b++) {
        total.l[b][r] *= a;
        if (a != 1.0f && total.used[b])
            call.kernels->scale(total.o[b] + size_t{r} * stride_of(call), a, stride_of(call));
    }
}

void merge_row(const AttendCall &call, RowSums &total, const RowSums &chunk, uint32_t r) {
    const float m = total.m[r] > chunk.m[r] ? total.m[r] : chunk.m[r];
    const float a = exp_f32(total.m[r] - m), b = exp_f32(chunk.m[r] - m);
    const uint32_t stride = stride_of(call);
    total.m[r] = m;
    for (uint32_t i = 0; i < kSums; i++) {
        total.l[i][r] = __builtin_fmaf(chunk.l[i][r], b, total.l[i][r] * a);
        float *o = total.o[i] + size_t{r} * stride;
        if (chunk.used[i])
            call.kernels->merge(o, chunk.o[i] + size_t{r} * stride, a, b, stride);
        else if (total.used[i] && a != 1.0f)
            call.kernels->scale(o, a, stride);
    }
}

// Adds a sink logit, which takes part in the softmax and has no value.
void add_sink(const AttendCall &call, RowSums &total, uint32_t r, float sink) {
    const float m = total.m[r] > sink ? total.m[r] : sink;
    raise_reference(call, total, r, m, exp_f32(total.m[r] - m));
    total.l[kOwnBasis][r] += exp_f32(sink - m);
}

void fill(float *out, uint32_t n, float value) {
    for (uint32_t j = 0; j < n; j++) out[j] = value;
}

// x[j] = fma(mu[j], l, x[j]); the kernel takes sixteen at a time.
void add_mean(const AttendCall &call, float *x, const float *mu, float l, uint32_t n) {
    const uint32_t whole = n / 16 * 16;
    call.kernels->merge(x, mu, 1.0f, l, whole);
    for (uint32_t j = whole; j < n; j++) x[j] = __builtin_fmaf(mu[j], l, x[j]);
}

// Returns the value sums of a row with both bases added, in x or in place.
const float *join_bases(const AttendCall &call, const Group &group, uint32_t r, float *x) {
    const RowSums &total = group.total;
    const Layer &layer = *call.layer;
    const uint32_t n = call.state->config.head_dim_v, all = call.state->config.sum_dim();
    const float *own = total.o[kOwnBasis] + size_t{r} * stride_of(call);
    if (!total.used[kTypeBasis]) return own;
    memcpy(x, total.o[kTypeBasis] + size_t{r} * stride_of(call),
           padded_values(*layer.v, all) * sizeof(float));
    call.kernels->unrotate(layer.v->transform, x, transformed_values(*layer.v, all));
    const HeadCalibration calibration = calibration_head(
        call.state->config, layer, calibration_of(layer, *group.track), group.kv_head);
    if (calibration.mu_v) add_mean(call, x, calibration.mu_v, total.l[kTypeBasis][r], n);
    for (uint32_t j = 0; layer.v_in_k && calibration.mu_k && j < n; j++)
        x[j] =
            __builtin_fmaf(calibration.mu_k[j], total.l[kTypeBasis][r], x[j] * calibration.eq_k[j]);
    for (uint32_t j = 0; total.used[kOwnBasis] && j < n; j++) x[j] = x[j] + own[j];
    return x;
}

typedef float FourFloats __attribute__((vector_size(16)));
typedef uint32_t FourBits __attribute__((vector_size(16)));

// out[j] = x[j] / l + 0; a NaN becomes the canonical one.
void divide(float *out, const float *x, float l, uint32_t n) {
    uint32_t j = 0;
    for (; j + 4 <= n; j += 4) {
        FourFloats v;
        memcpy(&v, x + j, sizeof v);
        v = v / l + 0.0f;
        const FourBits number = static_cast<FourBits>(v == v);
        FourBits bits;
        memcpy(&bits, &v, sizeof bits);
        bits = (bits & number) | (kCanonicalNan & ~number);
        memcpy(out + j, &bits, sizeof bits);
    }
    for (; j < n; j++) out[j] = canonical_nan(x[j] / l + 0.0f);
}

void finish_row(const AttendCall &call, Group &group, uint32_t r, float *x) {
    const Config &c = call.state->config;
    const Row &row = group.rows[r];
    const size_t item = row.query * c.n_q_heads + row.head;
    float *out = call.out + item * c.head_dim_v;
    float *lse = call.lse ? call.lse + item : nullptr;
    RowSums &total = group.total;
    if (total.not_finite[r]) {
        fill(out, c.head_dim_v, f32_from_bits(kCanonicalNan));
        if (lse) *lse = f32_from_bits(kCanonicalNan);
        return;
    }
    if (call.options.sink_logits) add_sink(call, total, r, call.options.sink_logits[row.head]);
    const float l = total.l[kOwnBasis][r] + total.l[kTypeBasis][r];
    if (!(l > 0.0f)) { // no visible token
        fill(out, c.head_dim_v, 0.0f);
        if (lse) *lse = -kInfinity;
        return;
    }
    if (total.used[kOwnBasis] || total.used[kTypeBasis])
        divide(out, join_bases(call, group, r, x), l, c.head_dim_v);
    else
        fill(out, c.head_dim_v, 0.0f); // only a sink is visible
    if (lse)
        *lse =
            static_cast<float>(static_cast<double>(total.m[r]) + log_f64(static_cast<double>(l)));
}

} // namespace

void clear_sums(RowSums &sums) {
    for (uint32_t r = 0; r < kRows; r++) {
        sums.m[r] = -kInfinity;
        sums.l[kOwnBasis][r] = sums.l[kTypeBasis][r] = 0.0f;
        sums.not_finite[r] = false;
    }
    sums.used[kOwnBasis] = sums.used[kTypeBasis] = false;
}

void merge_chunk(const AttendCall &call, Group &group, const RowSums &chunk) {
    RowSums &total = group.total;
    for (uint32_t i = 0; i < kSums; i++) {
        if (!chunk.used[i] || total.used[i]) continue;
        memset(total.o[i], 0, group.width * size_t(stride_of(call)) * sizeof(float));
        total.used[i] = true;
    }
    for (uint32_t r = 0; r < group.n_rows; r++) {
        total.not_finite[r] |= chunk.not_finite[r];
        if (chunk.m[r] > -kInfinity && !total.not_finite[r]) merge_row(call, total, chunk, r);
    }
}

void finish_group(const AttendCall &call, Group &group, AttendLocal &local) {
    for (uint32_t r = 0; r < group.n_rows; r++) finish_row(call, group, r, local.vector);
}

} // namespace ggufx::kv
