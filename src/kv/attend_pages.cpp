// Groups of rows over the pages of a chunk: keys to scores, scores to weights, values to sums.
// SPDX-License-Identifier: MIT
#include "kernels/kv_encode.hpp"
#include "kv/attend.hpp"

namespace ggufx::kv {

namespace {

using namespace kernels;

constexpr uint32_t kManyGroups = 3; // groups of one head that share a decoded page, at least

// Returns whether values of encoded pages are summed in the basis of their type.
bool sums_in_type_basis(const Layer &layer) {
    return layer.v->transform != KvTransform::none ||
           (layer.v_in_k ? layer.centre_k : layer.centre_v);
}

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
    SumBasis basis(const Layer &layer) const {
        return !v_type->is_float() && sums_in_type_basis(layer) ? kTypeBasis : kOwnBasis;
    }
};

// Returns the number of coordinates of keys that serve as values (v_in_k).
uint32_t value_coordinates(const AttendCall &call, const TypeOps &k_type) {
    const uint32_t n = call.state->config.head_dim_k;
    return k_type.is_float() ? n : padded_values(k_type, n);
}

// Decodes a page of keys, in one of its forms, as an F32 page of values in the basis of the sums.
// Kernels of float values read it. A page is decoded once for consecutive groups.
const uint8_t *values_of_keys(const AttendCall &call, const PageRef &page, const Block &block,
                              uint32_t head, AttendLocal &local) {
    const BlockShape &shape = call.layer->shape[block.form];
    const uint8_t *keys = block.data() + head * shape.k_head;
    auto *values = reinterpret_cast<uint8_t *>(local.values);
    if (local.decoded == keys && local.decoded_from == page.first) return values;
    const uint32_t n = value_coordinates(call, *shape.k);
    const uint32_t group = page.first / kKvGroup, end = page.first + page.n;
    const KvDecodeFn decode = call.kernels->encoders->decode[static_cast<uint32_t>(shape.k->kind)];
    for (uint32_t g = group; g * kKvGroup < end; g++) decode(local.values, keys, n, g);
    local.decoded = keys;
    local.decoded_from = page.first;
    return values;
}

// Prefetch plan over the pages of a track, heads first_head .. first_head + n_heads - 1, in the
// order of the computation. Head number `index` is head index % n_heads of page index / n_heads.
// Hardware prefetchers follow a few streams if each has a page of memory to itself. Wide pages are
// prefetched in quarters: values while the keys of their head are scored, the next keys while
// values are summed. Narrow pages prefetch the next four heads, a quarter of each during each head
// of the current four. (Q8_0 at 32,768 tokens takes 0.92, Q4_0 0.94 of the time that quarters
// take.)
class Ahead {
public:
    Ahead(const Layer &layer, const PageRef *first, const PageRef *behind, uint32_t first_head,
          uint32_t n_heads)
        : layer_(layer), first_(first), behind_(behind), first_head_(first_head),
          n_heads_(n_heads) {
        const BlockShape &shape = layer.shape[kEncoded];
        lag_ = shape.k_head + shape.v_head < kOverlapBytes;
    }
    // Whether the keys of a head are scored between the softmax and the value sum of the head
    // before. That hides the latency of the softmax, a long chain of few instructions. It does not
    // help if memory is the limit. (At 4,096 tokens GX4 and Q4_0 take 0.98 of the time, F16 at
    // 32,768 tokens 1.01.)
    bool overlaps() const { return lag_ != 0; }

    KvAhead beside_keys(size_t index) const {
        const HeadPage now = head(index);
        if (now.v_lines >= kWideLines) return quarters(now.v, now.v_lines);
        KvAhead ahead = {};
        const size_t four = (index / 4 + 1) * 4;
        for (size_t i = 0; i < 4 && within(four); i++) {
            const HeadPage then = of_four(four, i);
            add(ahead, i, then.v, then.v_lines, index % 4);
        }
        return ahead;
    }
    KvAhead beside_values(size_t index) const {
        KvAhead ahead = {};
        index += lag_; // the keys of lag_ heads have been read already
        if (!within(index)) return ahead;
        if (head(index).k_lines >= kWideLines) {
            if (!within(index + 1)) return ahead;
            const HeadPage next = head(index + 1);
            return quarters(next.k, next.k_lines);
        }
        const size_t four = (index / 4 + 1) * 4;
        for (size_t i = 0; i < 4 && within(four); i++) {
            const HeadPage then = of_four(four, i);
            add(ahead, i, then.k, then.k_lines, index % 4);
        }
        return ahead;
    }
    // Prefetches the header of a later block: its form tells where its pages are.
    void prefetch_head(const PageRef *page) const {
        const size_t pages = 8 / n_heads_ + 1;
        if (static_cast<size_t>(behind_ - page) <= pages) return;
        page += pages;
        __builtin_prefetch(page->block);
        __builtin_prefetch(page->block->positions + page->first);
        __builtin_prefetch(page->block->positions + page->first + page->n - 1);
        const BlockShape &shape = layer_.shape[kEncoded];
        if (!layer_.before_rope) return; // the form is not read: the block is not here yet
        for (size_t at = shape.rotation; at < shape.bytes - sizeof(Block); at += 64)
            __builtin_prefetch(page->block->data() + at);
    }

private:
    static constexpr uint32_t kWideLines = 4 * 4096 / 64;
    static constexpr size_t kOverlapBytes = 4 * 4096;

    bool within(size_t index) const {
        return index / n_heads_ < static_cast<size_t>(behind_ - first_);
    }
    HeadPage head(size_t index) const {
        return HeadPage(layer_, *first_[index / n_heads_].block,
                        first_head_ + static_cast<uint32_t>(index % n_heads_));
    }
    // Returns head four + i, or the first of the four again after the last page.
    HeadPage of_four(size_t four, size_t i) const {
        return head(within(four + i) ? four + i : four);
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
    const PageRef *first_, *behind_; // `behind_`: end of the track's pages
    uint32_t first_head_, n_heads_, lag_;
};

// Returns whether attend_many() can run a page: not with values in keys, and not without kernels for
// its types. Queries for pages with another shift are packed one at a time. Some rows may see a page
// in the other form.
bool takes_many(const AttendCall &call, const Group *groups, size_t n, const PageRef &page,
                const PageRef *behind) {
    if (call.layer->v_in_k || page.delta != groups[0].query.delta) return false;
    for (size_t g = 0; page.plain && g < n; g++)
        for (uint32_t r = 0; r < groups[g].n_rows; r++)
            if (stands_in(page, behind, groups[g].rows[r])) return false;
    const HeadPage head(*call.layer, *page.block, groups[0].kv_head);
    return kv_kernels(*call.state->kernels, head.k_type->kind).ready.score &&
           kv_kernels(*call.state->kernels, head.v_type->kind).ready.accumulate;
}

constexpr KvAhead kNothing = {};

// Memory that is needed after n groups, prefetched in n parts.
struct Later {
    const uint8_t *data;
    uint32_t lines;

    void ask(size_t g, size_t n) const {
        for (size_t i = lines * g / n; i < lines * (g + 1) / n; i++)
            __builtin_prefetch(data + 64 * i, 0, 2);
    }
};

// Scores groups against the keys of a page head, which are decoded at the first use.
struct ManyKeys {
    const AttendCall &call;
    const PageRef &page;
    const HeadPage &head;
    uint8_t *ready;
    bool is_ready;

    void score(const Group &group, float *s, KvTokens tokens) {
        const KvKernels &k = kv_kernels(*call.state->kernels, head.k_type->kind);
        const bool coded = !head.k_type->is_float();
        float bias[kRows];
        const KvQuery query =
            coded ? coded_query(call, group, group.query, *page.block, bias) : group.query.plain;
        if (group.width != kRows) {
            k.score[kv_rows_index(group.width)](s, query, head.k, tokens, kNothing);
            return;
        }
        const uint32_t first = page.first, end = first + page.n;
        if (!is_ready) k.ready.keys(ready, head.k, query.d, {first, end});
        is_ready = true;
        k.ready.score(s, query, ready, tokens, kNothing);
    }
};

void attend_many(const AttendCall &call, const Group *groups, size_t n, const PageRef &page,
                 const PageRef *next, RowSums *sums, AttendLocal &local) {
    const HeadPage head(*call.layer, *page.block, groups[0].kv_head);
    const SumBasis basis = head.basis(*call.layer);
    const KvKernels &v = kv_kernels(*call.state->kernels, head.v_type->kind);
    const uint32_t sum_dim = call.state->config.sum_dim();
    KvTokens tokens[kMostGroups], all = {kKvTokens, 0};
    ManyKeys keys = {call, page, head, local.ready, false};
    const Later values = {head.v, head.v_lines};
    for (size_t g = 0; g < n; g++) {
        values.ask(g, n);
        float *s = local.s + g * kRows * kKvTokens;
        const Visible seen(page, groups[g]);
        tokens[g] = seen.all;
        if (seen.nothing()) continue;
        keys.score(groups[g], s, seen.all);
        weigh_rows(call, groups[g], page, seen, basis, s, sums[g]);
        if (seen.all.first < all.first) all.first = seen.all.first;
        if (seen.all.end > all.end) all.end = seen.all.end;
    }
    if (all.first >= all.end) return;
    v.ready.values(local.ready, head.v, sum_dim, all);
    Later next_keys = {nullptr, 0};
    if (next) {
        const HeadPage then(*call.layer, *next->block, groups[0].kv_head);
        next_keys = {then.k, then.k_lines};
    }
    for (size_t g = 0; g < n; g++) {
        next_keys.ask(g, n);
        if (tokens[g].first >= tokens[g].end) continue;
        const float *p = local.s + g * kRows * kKvTokens;
        float *o = sums_of(call, groups[g], basis, sums[g]);
        const uint32_t width = groups[g].width;
        if (width == kRows)
            v.ready.accumulate(o, sum_dim, p, local.ready, tokens[g], kNothing);
        else
            v.accumulate[kv_rows_index(width)](o, sum_dim, p, head.v, tokens[g], kNothing);
    }
}

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
        float bias[kRows];
        const KvQuery packed =
            head.k_type->is_float() ? query.plain : coded_query(call_, group, query, block, bias);
        k.score[kv_rows_index(group.width)](s, packed, head.k, seen.all, beside_keys);
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
