// Many groups of query rows over one head of a page, as in prefill. Keys are decoded once, then all
// rows are scored and weighted; values are decoded once, then all rows are summed.
// SPDX-License-Identifier: MIT
#include "kv/attend_rows.hpp"

namespace ggufx::kv {

using namespace kernels;

// False for values in keys, and for types without such kernels. Also false for pages with another
// shift (their queries are packed one at a time), and for pages that some rows see in the other
// form.
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

namespace {

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
        const KvQuery &query = coded ? group.query.coded : group.query.plain;
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

} // namespace

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

} // namespace ggufx::kv
