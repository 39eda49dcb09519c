// Groups of rows over the pages of a chunk: keys to scores, scores to weights, values to sums.
// SPDX-License-Identifier: MIT
#include "kv/attend_ahead.hpp"

#include "base/math.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

using namespace kernels;

// Slots of a page that a row sees; positions do not descend within a page.
KvTokens visible(const PageRef &page, const Row &row) {
    const int32_t *position = page.block->positions;
    const int64_t delta = page.delta;
    uint32_t first = page.first, end = uint32_t(page.first) + page.n;
    while (end > first && position[end - 1] + delta > row.until) end--;
    while (first < end && position[first] + delta <= row.after) first++;
    return {first, end};
}

struct Visible {
    KvTokens row[kRows];
    KvTokens all; // their union, as one range

    Visible(const PageRef &page, const Group &group) : all{kKvTokens, 0} {
        for (uint32_t r = 0; r < group.n_rows; r++) {
            const Row &now = group.rows[r], &last = group.rows[r ? r - 1 : 0];
            const bool same = r && now.until == last.until && now.after == last.after;
            row[r] = same ? row[r - 1] : visible(page, now);
            if (row[r].first >= row[r].end) continue;
            if (row[r].first < all.first) all.first = row[r].first;
            if (row[r].end > all.end) all.end = row[r].end;
        }
    }
};

// cap * tanh(s / cap) by the exp of README.md.
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
        const int64_t distance = int64_t(page.block->positions[t]) + page.delta - row.position;
        s[t] = __builtin_fmaf(slopes[row.head], static_cast<float>(distance), s[t]);
    }
}

// Scores to weights, row by row; sums so far follow a new reference.
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
            if (sums.used[b]) call.kernels->scale(sums.o[b] + r * stride, factor, stride);
    }
}

const PackedQuery &query_for(const AttendCall &call, const Group &group, int32_t delta,
                             AttendLocal &local) {
    if (delta == group.query.delta) return group.query;
    bool not_finite[kRows] = {}; // found when the group was packed
    if (local.packed_for != &group || local.query.delta != delta)
        pack_query(call, group, delta, local.query, local.vector, not_finite);
    local.packed_for = &group;
    return local.query;
}

// The heads of pages one after the other; the sum of the last one may wait for the scores of the
// next.
class HeadSteps {
public:
    HeadSteps(const AttendCall &call, AttendLocal &local) : call_(call), local_(local) {}

    void add(const Group &group, const PageRef &page, RowSums &sums, const KvAhead &beside_keys,
             const KvAhead &beside_values) {
        const Visible seen(page, group);
        if (seen.all.first >= seen.all.end) return;
        const HeadPage head(*call_.layer, *page.block, group.kv_head);
        const bool typed = !head.v_type->is_float() && sums_in_type_basis(*call_.layer);
        const SumBasis basis = typed ? kTypeBasis : kOwnBasis;
        float *s = last_.s == local_.s ? local_.s + kRows * kKvTokens : local_.s;

        const PackedQuery &query = query_for(call_, group, page.delta, local_);
        const KvKernels &k = kv_kernels(*call_.kernels, head.k_type->kind);
        k.score[kv_rows_index(group.width)](s, head.k_type->is_float() ? query.plain : query.coded,
                                            head.k, seen.all, beside_keys);
        sum_last();
        weigh_rows(call_, group, page, seen, basis, s, sums);
        last_ = {&group, &page, &sums, basis, seen.all, s, beside_values};
    }
    // Of the last head.
    void sum_last() {
        if (!last_.s) return;
        const Last now = last_;
        last_.s = nullptr;
        const Group &group = *now.group;
        const HeadPage head(*call_.layer, *now.page->block, group.kv_head);
        const uint32_t sum_dim = call_.state->config.sum_dim();
        float *o = now.sums->o[now.basis];
        bool &used = now.sums->used[now.basis];
        if (!used) memset(o, 0, group.width * kv_sum_floats(sum_dim) * sizeof(float));
        used = true;
        const bool in_keys = call_.layer->v_in_k;
        const KvKind kind = in_keys ? KvKind::f32 : head.v_type->kind;
        kv_kernels(*call_.kernels, kind).accumulate[kv_rows_index(group.width)](
            o, in_keys ? value_coordinates(call_, *head.k_type) : sum_dim, now.s,
            in_keys ? values_of_keys(call_, *now.page, group.kv_head, local_) : head.v, now.tokens,
            now.beside_values);
    }

private:
    struct Last {
        const Group *group;
        const PageRef *page;
        RowSums *sums;
        SumBasis basis;
        KvTokens tokens;
        float *s; // weights; null: there is none
        KvAhead beside_values;
    };
    const AttendCall &call_;
    AttendLocal &local_;
    Last last_ = {};
};

uint64_t first_chunk(const Track &track) {
    return track.n_pages ? track.pages[0].index / kChunkTokens : 0;
}

// The first page of a chunk or of those after it.
size_t first_page(const Track &track, uint64_t chunk) {
    size_t low = 0, high = track.n_pages;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (track.pages[middle].index / kChunkTokens < chunk)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

// Those of a chunk.
struct Pages {
    const PageRef *first, *end, *behind; // behind: of the track

    Pages(const Track &track, uint64_t chunk)
        : first(track.pages + first_page(track, chunk)), end(first),
          behind(track.pages + track.n_pages) {
        while (end < behind && end->index / kChunkTokens == chunk) end++;
    }
    // Some want another query than the one at hand; a worker has memory for one.
    bool turned(int32_t delta) const {
        const PageRef *page = first;
        while (page < end && page->delta == delta) page++;
        return page < end;
    }
};

// Groups of one track, side by side: in this order pages are one stream.
void add_pages(const AttendCall &call, const Group *groups, size_t n, const Pages &pages,
               RowSums *sums, AttendLocal &local) {
    const uint32_t n_heads = groups[n - 1].kv_head - groups[0].kv_head + 1;
    const Ahead ahead(*call.layer, pages.first, pages.behind, groups[0].kv_head, n_heads);
    const KvAhead nothing = {};
    HeadSteps steps(call, local);
    size_t index = 0;
    for (const PageRef *page = pages.first; page < pages.end; page++) {
        ahead.prefetch_head(page);
        for (size_t g = 0; g < n; g++) {
            if (g && groups[g - 1].kv_head == groups[g].kv_head) {
                steps.add(groups[g], *page, sums[g], nothing, nothing);
            } else {
                steps.add(groups[g], *page, sums[g], ahead.beside_keys(index),
                          ahead.beside_values(index));
                index++;
            }
            if (!ahead.overlaps()) steps.sum_last();
        }
    }
    steps.sum_last();
}

} // namespace

size_t chunks_of(const Track &track) {
    if (track.n_pages == 0) return 0;
    const uint64_t last = track.pages[track.n_pages - 1].index / kChunkTokens;
    return static_cast<size_t>(last - first_chunk(track)) + 1;
}

bool sums_in_type_basis(const Layer &layer) {
    return layer.v->transform != KvTransform::none ||
           (layer.v_in_k ? layer.centre_k : layer.centre_v);
}

void attend_chunk(const AttendCall &call, const Group *groups, size_t n, size_t chunk,
                  RowSums *sums, AttendLocal &local) {
    local.packed_for = nullptr;
    local.decoded = nullptr;
    for (size_t g = 0; g < n; g++) {
        clear_sums(sums[g]);
        for (uint32_t r = 0; r < groups[g].n_rows; r++)
            sums[g].not_finite[r] = groups[g].total.not_finite[r];
    }
    for (size_t first = 0, end = 0; first < n; first = end) {
        const Track &track = *groups[first].track;
        // A batch may name a sequence twice: its heads once more are a stream of their own.
        while (++end < n && groups[end].track == &track &&
               groups[end].kv_head >= groups[end - 1].kv_head) {}
        const Pages pages(track, first_chunk(track) + chunk);
        const bool alone = !call.layer->v_in_k && pages.turned(groups[first].query.delta);
        const size_t step = alone ? 1 : end - first;
        for (size_t g = first; g < end; g += step)
            add_pages(call, groups + g, step, pages, sums + g, local);
    }
}

} // namespace ggufx::kv
