// Attention: what each query sees, and tasks of whole (query, head) pairs, so that calls may run at
// once, nothing is allocated and no split changes a bit.
// SPDX-License-Identifier: MIT
#include "kv/attend_head.hpp"

#include "base/bytes.hpp"
#include "base/fpenv.hpp"

namespace ggufx::kv {

namespace {

constexpr uint64_t kTaskNs = 100000, kSerialNs = 50000;

struct Call {
    const Cache::State *state;
    const Layer *layer;
    const Track *track;
    const float *q;
    bool causal;
    const int32_t *positions; // of the queries; null: those of the last n_queries tokens
    size_t n_queries;
    float *out, *lse;
    float scale;
    uint64_t n_items; // queries * heads
    uint64_t group;   // items of one task
};

int32_t position_of_token(const Track &track, uint64_t token) {
    size_t page = track.n_pages;
    uint64_t end = track.n_tokens;
    while (end - track.pages[page - 1].n > token) end -= track.pages[--page].n;
    const PageRef &ref = track.pages[page - 1];
    return position_at(ref, static_cast<uint32_t>(token - (end - ref.n)));
}

// Positions that a query sees: up to its own, not behind the window of the layer.
void set_visible(const Call &call, size_t query, Head &head) {
    head.after = INT64_MIN;
    head.until = INT64_MAX;
    if (!call.causal) return;
    const Track &track = *call.track;
    head.until = call.positions ? call.positions[query]
                                : position_of_token(track, track.n_tokens - call.n_queries + query);
    if (call.layer->window) head.after = head.until - int64_t(call.layer->window);
}

void run_item(const Call &call, uint64_t item) {
    const Config &c = call.state->config;
    const uint32_t q_head = static_cast<uint32_t>(item % c.n_q_heads);
    Head head{};
    head.state = call.state;
    head.layer = call.layer;
    head.track = call.track;
    head.q = call.q + static_cast<size_t>(item) * c.head_dim_k;
    head.kv_head = q_head / (c.n_q_heads / c.n_kv_heads);
    set_visible(call, static_cast<size_t>(item / c.n_q_heads), head);
    head.scale = call.scale;
    float unwanted;
    float *lse = call.lse ? call.lse + static_cast<size_t>(item) : &unwanted;
    attend_head(head, call.out + static_cast<size_t>(item) * c.head_dim_v, lse);
}

void task(void *ctx, uint32_t index, uint32_t) {
    const Call &call = *static_cast<const Call *>(ctx);
    const uint64_t first = index * call.group, left = call.n_items - first;
    const uint64_t n = left < call.group ? left : call.group;
    for (uint64_t item = first; item < first + n; item++) run_item(call, item);
}

// About a nanosecond per coordinate and token.
uint64_t nanoseconds_per_item(const Config &c, uint64_t n_tokens) {
    return (n_tokens + 1) * (uint64_t(c.head_dim_k) + c.head_dim_v);
}

Status run(const Call &call, Failure *failure) {
    Call grouped = call;
    const uint64_t cost = nanoseconds_per_item(call.state->config, call.track->n_tokens);
    if (call.n_items <= kSerialNs / cost || call.n_items == 1) {
        const CanonicalFp fp; // not around parallel_for: the host's code keeps its own mode
        for (uint64_t item = 0; item < call.n_items; item++) run_item(call, item);
        return Status::ok;
    }
    grouped.group = cost < kTaskNs ? kTaskNs / cost : 1;
    while ((call.n_items - 1) / grouped.group >= UINT32_MAX) grouped.group *= 2;
    const uint64_t n_tasks = (call.n_items - 1) / grouped.group + 1;
    const Status status =
        call.state->host->parallel_for(static_cast<uint32_t>(n_tasks), task, &grouped);
    if (status == Status::ok) return status;
    return set_failure(failure, status, {}, "the executor did not run the tasks of an attention");
}

// 1 / sqrt(head_dim) in binary64, rounded once more to a float.
float default_scale(uint32_t head_dim) {
    const CanonicalFp fp;
    return static_cast<float>(1.0 / __builtin_sqrt(static_cast<double>(head_dim)));
}

} // namespace

Status Cache::attend(float *out, float *lse, uint32_t layer, uint32_t sequence, const float *q,
                     size_t n_queries, const int32_t *positions, const AttendOptions &options,
                     Failure *failure) const {
    const State &s = *state_;
    const Config &c = s.config;
    Status status = check_layer(c, layer, failure);
    if (status == Status::ok) status = check_sequence(c, sequence, failure);
    if (status != Status::ok || n_queries == 0) return status;
    const Track &track = s.track(layer, sequence);
    if (options.causal && !positions && n_queries > track.n_tokens - track.n_dropped)
        return set_failure(failure, Status::argument, {},
                           "%zu queries without positions: the sequence has %llu tokens", n_queries,
                           static_cast<unsigned long long>(track.n_tokens));
    if ((f32_bits(options.scale) & 0x7fffffffu) >= 0x7f800000u)
        return set_failure(failure, Status::argument, {}, "the scale is NaN or infinite");
    Call call{};
    call.state = &s;
    call.layer = &s.layers[layer];
    call.track = &track;
    call.q = q;
    call.causal = options.causal;
    call.positions = positions;
    call.n_queries = n_queries;
    call.out = out;
    call.lse = lse;
    call.scale = options.scale != 0.0f ? options.scale : default_scale(c.head_dim_k);
    call.n_items = uint64_t(n_queries) * c.n_q_heads;
    return run(call, failure);
}

} // namespace ggufx::kv
