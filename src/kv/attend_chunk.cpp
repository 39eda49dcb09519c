// A group of rows over the pages of a chunk. While a page's keys are scored, its values are
// prefetched; while those are summed up, the keys of the next page.
// SPDX-License-Identifier: MIT
#include "kv/attend.hpp"

#include "base/math.hpp"

#include <string.h>

namespace ggufx::kv {

namespace {

using namespace kernels;

// One head of K and V of a page.
struct HeadPage {
    const TypeOps *k_type, *v_type;
    const uint8_t *k, *v;
    uint32_t k_lines, v_lines;

    HeadPage(const Layer &layer, const Block &block, uint32_t head) {
        const BlockShape &shape = layer.shape[block.form];
        k_type = shape.k;
        v_type = shape.v;
        k = block.data() + head * shape.k_head;
        v = block.data() + shape.v_offset + head * shape.v_head;
        k_lines = static_cast<uint32_t>(shape.k_head / 64);
        v_lines = static_cast<uint32_t>(shape.v_head / 64);
    }
};

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

// What to fetch while the keys and the values of a head of a page are worked on.
struct Fetch {
    KvAhead beside_keys, beside_values;
};

void add_page(const AttendCall &call, const Group &group, const PageRef &page, const Fetch &fetch,
              RowSums &sums, AttendLocal &local) {
    const Visible seen(page, group);
    if (seen.all.first >= seen.all.end) return;
    const HeadPage head(*call.layer, *page.block, group.kv_head);
    const uint32_t sum_dim = call.state->config.sum_dim(), width = kv_rows_index(group.width);
    const bool typed = !head.v_type->is_float() && sums_in_type_basis(*call.layer);
    const SumBasis basis = typed ? kTypeBasis : kOwnBasis;
    const PackedQuery &query = query_for(call, group, page.delta, local);

    const KvKernels &k = kv_kernels(*call.kernels, head.k_type->kind);
    k.score[width](local.s, head.k_type->is_float() ? query.plain : query.coded, head.k, seen.all,
                   fetch.beside_keys);
    weigh_rows(call, group, page, seen, basis, local.s, sums);
    if (!sums.used[basis])
        memset(sums.o[basis], 0, group.width * kv_sum_floats(sum_dim) * sizeof(float));
    sums.used[basis] = true;
    const bool in_keys = call.layer->v_in_k;
    const KvKind kind = in_keys ? KvKind::f32 : head.v_type->kind;
    kv_kernels(*call.kernels, kind).accumulate[width](
        sums.o[basis], in_keys ? value_coordinates(call, *head.k_type) : sum_dim, local.s,
        in_keys ? values_of_keys(call, page, group.kv_head, local) : head.v, seen.all,
        fetch.beside_values);
}

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

// What to fetch, in the order in which heads of pages are worked on. Hardware helps along with a few
// streams if each has a page of memory to itself: quarters of a wide page, its values beside its keys,
// the next keys beside its values; of narrow pages those of the next four heads, a quarter of each
// beside each head of this four (Q8_0 at 32,768 tokens 0.92, Q4_0 0.94 of the time that quarters take).
class Ahead {
public:
    Ahead(const Layer &layer, const Pages &pages, uint32_t first_head, uint32_t n_heads)
        : layer_(layer), pages_(pages), first_head_(first_head), n_heads_(n_heads) {}

    Fetch beside(size_t index) const {
        Fetch fetch = {};
        const HeadPage now = head(index);
        if (now.v_lines >= kWideLines) fetch.beside_keys = quarters(now.v, now.v_lines);
        if (now.k_lines >= kWideLines && within(index + 1)) {
            const HeadPage next = head(index + 1);
            fetch.beside_values = quarters(next.k, next.k_lines);
        }
        const bool k = now.k_lines < kWideLines, v = now.v_lines < kWideLines;
        const size_t four = (index / 4 + 1) * 4;
        if ((!k && !v) || !within(four)) return fetch;
        for (size_t i = 0; i < 4; i++) { // behind the last page: that of the first again
            const HeadPage then = head(within(four + i) ? four + i : four);
            if (v) add(fetch.beside_keys, i, then.v, then.v_lines, index % 4);
            if (k) add(fetch.beside_values, i, then.k, then.k_lines, index % 4);
        }
        return fetch;
    }
    // The form of a block says where its pages lie: asked for before that.
    void prefetch_head(const PageRef *page) const {
        const size_t pages = 8 / n_heads_ + 1;
        if (static_cast<size_t>(pages_.behind - page) <= pages) return;
        page += pages;
        __builtin_prefetch(page->block);
        __builtin_prefetch(page->block->positions + page->first);
        __builtin_prefetch(page->block->positions + page->first + page->n - 1);
    }

private:
    static constexpr uint32_t kWideLines = 4 * 4096 / 64;

    bool within(size_t index) const {
        return index / n_heads_ < static_cast<size_t>(pages_.behind - pages_.first);
    }
    HeadPage head(size_t index) const {
        return HeadPage(layer_, *pages_.first[index / n_heads_].block,
                        first_head_ + static_cast<uint32_t>(index % n_heads_));
    }
    static KvAhead quarters(const uint8_t *data, uint32_t lines) {
        const uint32_t n = (lines + 3) / 4;
        return {{data, data + n * 64, data + n * 128, data + n * 192}, n};
    }
    static void add(KvAhead &to, size_t i, const uint8_t *data, uint32_t lines, size_t quarter) {
        const uint32_t n = (lines + 3) / 4;
        to.data[i] = data + quarter * n * 64;
        if (n > to.lines) to.lines = n;
    }
    const Layer &layer_;
    const Pages &pages_;
    uint32_t first_head_, n_heads_;
};

// Groups of one track, side by side: in this order pages are one stream.
void add_pages(const AttendCall &call, const Group *groups, size_t n, const Pages &pages,
               RowSums *sums, AttendLocal &local) {
    const uint32_t n_heads = groups[n - 1].kv_head - groups[0].kv_head + 1;
    const Ahead ahead(*call.layer, pages, groups[0].kv_head, n_heads);
    const Fetch nothing = {};
    size_t index = 0;
    for (const PageRef *page = pages.first; page < pages.end; page++) {
        ahead.prefetch_head(page);
        for (size_t g = 0; g < n; g++) {
            const bool again = g && groups[g - 1].kv_head == groups[g].kv_head;
            add_page(call, groups[g], *page, again ? nothing : ahead.beside(index++), sums[g],
                     local);
        }
    }
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
