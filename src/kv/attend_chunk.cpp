// Groups of rows over the pages of a chunk: keys to scores, scores to weights, values to sums.
// SPDX-License-Identifier: MIT
#include "kv/attend_ahead.hpp"
#include "kv/attend_rows.hpp"

namespace ggufx::kv {

namespace {

using namespace kernels;

const PackedQuery &query_for(const AttendCall &call, const Group &group, int32_t delta,
                             AttendLocal &local) {
    if (delta == group.query.delta) return group.query;
    bool not_finite[kRows] = {}; // recorded when the group was packed
    if (local.packed_for != &group || local.query.delta != delta)
        pack_query(call, group, delta, local.query, local.vector, not_finite);
    local.packed_for = &group;
    return local.query;
}

// Processes page heads in order. The value sum of a head may be delayed until the next head is
// scored.
class HeadSteps {
public:
    HeadSteps(const AttendCall &call, const PageRef *behind, AttendLocal &local)
        : call_(call), behind_(behind), local_(local) {}

    // Adds a page. If it has both forms, each row sees one of them.
    void add(const Group &group, const PageRef &page, RowSums &sums, const KvAhead &beside_keys,
             const KvAhead &beside_values) {
        const Visible seen(page, group);
        if (!page.plain) {
            add_form(group, page, *page.block, seen, sums, beside_keys, beside_values);
            return;
        }
        add_form(group, page, *page.block, seen.part(page, behind_, group, false), sums,
                 beside_keys, beside_values);
        add_form(group, page, *page.plain, seen.part(page, behind_, group, true), sums, {}, {});
    }
    // Adds the weighted values of the last head, if they are pending.
    void sum_last() {
        if (!last_.s) return;
        const Last now = last_;
        last_.s = nullptr;
        const Group &group = *now.group;
        const HeadPage head(*call_.layer, *now.block, group.kv_head);
        const uint32_t sum_dim = call_.state->config.sum_dim();
        float *o = sums_of(call_, group, now.basis, *now.sums);
        const bool in_keys = call_.layer->v_in_k;
        const KvKind kind = in_keys ? KvKind::f32 : head.v_type->kind;
        kv_kernels(*call_.state->kernels, kind)
            .accumulate[kv_rows_index(group.width)](
                o, in_keys ? value_coordinates(call_, *head.k_type) : sum_dim, now.s,
                in_keys ? values_of_keys(call_, *now.page, *now.block, group.kv_head, local_)
                        : head.v,
                now.tokens, now.beside_values);
    }

private:
    void add_form(const Group &group, const PageRef &page, const Block &block, const Visible &seen,
                  RowSums &sums, const KvAhead &beside_keys, const KvAhead &beside_values) {
        if (seen.nothing()) return;
        const HeadPage head(*call_.layer, block, group.kv_head);
        const SumBasis basis = head.basis(*call_.layer);
        float *s = last_.s == local_.s ? local_.s + size_t{kRows} * kKvTokens : local_.s;

        const PackedQuery &query = query_for(call_, group, page.delta, local_);
        const KvKernels &k = kv_kernels(*call_.state->kernels, head.k_type->kind);
        k.score[kv_rows_index(group.width)](s, head.k_type->is_float() ? query.plain : query.coded,
                                            head.k, seen.all, beside_keys);
        sum_last();
        weigh_rows(call_, group, page, seen, basis, s, sums);
        last_ = {&group, &page, &block, &sums, basis, seen.all, s, beside_values};
    }

    struct Last {
        const Group *group;
        const PageRef *page;
        const Block *block; // the form that was scored
        RowSums *sums;
        SumBasis basis;
        KvTokens tokens;
        float *s; // weights; null: nothing is pending
        KvAhead beside_values;
    };
    const AttendCall &call_;
    const PageRef *behind_; // end of the track's pages
    AttendLocal &local_;
    Last last_ = {};
};

uint64_t first_chunk(const Track &track) {
    return track.n_pages ? track.pages[0].index / kChunkTokens : 0;
}

// Returns the first page that belongs to `chunk` or a later chunk.
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

// Returns the smallest span that contains the spans of all rows of n groups.
Span seen_by(const Group *groups, size_t n) {
    Span all = groups[0].rows[0].sees;
    for (size_t g = 0; g < n; g++)
        for (uint32_t r = 0; r < groups[g].n_rows; r++) {
            const Span one = groups[g].rows[r].sees;
            all.after = one.after < all.after ? one.after : all.after;
            all.until = one.until > all.until ? one.until : all.until;
        }
    return all;
}

// Pages of a chunk, without those at both ends that no row sees.
struct Pages {
    const PageRef *first, *end, *behind; // `behind`: end of the track's pages

    Pages(const Track &track, uint64_t chunk, Span seen)
        : first(track.pages + first_page(track, chunk)), end(first),
          behind(track.pages + track.n_pages) {
        while (end < behind && end->index / kChunkTokens == chunk) end++;
        while (end > first && position_at(end[-1], 0) > seen.until) end--;
        while (first < end && position_at(*first, first->n - 1u) <= seen.after) first++;
    }
    // Whether a page has another shift than `delta`, so that queries must be packed again; a worker
    // has memory for one such query.
    bool turned(int32_t delta) const {
        const PageRef *page = first;
        while (page < end && page->delta == delta) page++;
        return page < end;
    }
};

// Returns how many groups, from the first one on, belong to one KV head.
size_t groups_of_head(const Group *groups, size_t n) {
    size_t same = 1;
    while (same < n && groups[same].kv_head == groups[0].kv_head) same++;
    return same;
}

// Adds pages for groups of one track. In this order, pages are read as one stream.
void add_pages(const AttendCall &call, const Group *groups, size_t n, const Pages &pages,
               RowSums *sums, AttendLocal &local) {
    const uint32_t n_heads = groups[n - 1].kv_head - groups[0].kv_head + 1;
    const Ahead ahead(*call.layer, pages.first, pages.behind, groups[0].kv_head, n_heads);
    const KvAhead nothing = {};
    HeadSteps steps(call, pages.behind, local);
    size_t index = 0;
    for (const PageRef *page = pages.first; page < pages.end; page++) {
        ahead.prefetch_head(page);
        for (size_t g = 0, end; g < n; g = end, index++) { // head by head
            end = g + groups_of_head(groups + g, n - g);
            const bool many = end - g >= kManyGroups;
            if (many && takes_many(call, groups + g, end - g, *page, pages.behind)) {
                steps.sum_last(); // its weights are in memory that attend_many() overwrites
                const PageRef *next = page + 1 < pages.behind ? page + 1 : nullptr;
                attend_many(call, groups + g, end - g, *page, next, sums + g, local);
                continue;
            }
            for (size_t i = g; i < end; i++) {
                const bool first = i == g;
                steps.add(groups[i], *page, sums[i], first ? ahead.beside_keys(index) : nothing,
                          first ? ahead.beside_values(index) : nothing);
                if (!ahead.overlaps()) steps.sum_last();
            }
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
        // A batch may name a sequence twice; its heads then form another pass over the pages.
        while (++end < n && groups[end].track == &track &&
               groups[end].kv_head >= groups[end - 1].kv_head) {}
        const Span seen = seen_by(groups + first, end - first);
        const Pages pages(track, first_chunk(track) + chunk, seen);
        const bool alone = !call.layer->v_in_k && pages.turned(groups[first].query.delta);
        const size_t step = alone ? 1 : end - first;
        for (size_t g = first; g < end; g += step)
            add_pages(call, groups + g, step, pages, sums + g, local);
    }
}

} // namespace ggufx::kv
