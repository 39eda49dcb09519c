// Attention over pages, in the order that README.md fixes: pages ascend within chunks of 512
// tokens, chunks are merged in ascending order. One task handles whole (query, head) pairs on its
// own stack, so that calls may run at once, nothing is allocated and no split changes a bit.
// SPDX-License-Identifier: MIT
#include "base/fpenv.hpp"
#include "base/math.hpp"
#include "kv/state.hpp"

namespace ggufx::kv {

namespace {

constexpr uint32_t kChunkTokens = 512;
constexpr uint32_t kColumns = 512; // of V at once: two rows of sums of 2 KiB on the stack
constexpr uint32_t kTile = 128;    // values decoded at once
constexpr float kSlack = 8.0f;     // a maximum may be passed by this before sums are scaled
constexpr uint64_t kTaskNs = 100000, kSerialNs = 50000;
constexpr float kInfinity = __builtin_inff();

struct Call {
    const Cache::State *state;
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

// Sums of one chunk, or of all chunks so far, relative to the reference m.
struct Sums {
    float m = -kInfinity, l = 0.0f;
    float o[kColumns];
};

// The first n tokens of a track that one head sees, and the columns of V to sum up.
struct Head {
    const Call *call;
    const float *q;
    uint32_t kv_head;
    uint64_t n_visible;
    uint32_t first_column, n_columns;
};

void clear(Sums &s, uint32_t n) {
    s.m = -kInfinity;
    s.l = 0.0f;
    for (uint32_t j = 0; j < n; j++) s.o[j] = 0.0f;
}

// Two chains over even and odd coordinates, added, times the scale.
float score(const Head &head, uint64_t token) {
    const Cache::State &s = *head.call->state;
    const uint8_t *row = s.k_row(*head.call->track, token, head.kv_head);
    float even = 0.0f, odd = 0.0f, key[kTile];
    for (uint32_t first = 0; first < s.config.head_dim_k; first += kTile) {
        const uint32_t left = s.config.head_dim_k - first, n = left < kTile ? left : kTile;
        s.k_type->decode(key, row, first, n);
        const float *q = head.q + first;
        uint32_t i = 0;
        for (; i + 1 < n; i += 2) {
            even = __builtin_fmaf(q[i], key[i], even);
            odd = __builtin_fmaf(q[i + 1], key[i + 1], odd);
        }
        if (i < n) even = __builtin_fmaf(q[i], key[i], even);
    }
    return (even + odd) * head.call->scale;
}

// Scores of a page's first n tokens; false when one is not finite.
bool page_scores(const Head &head, uint64_t first, uint32_t n, float *scores, float *largest) {
    uint32_t worst = 0;
    float max = -kInfinity;
    for (uint32_t t = 0; t < n; t++) {
        scores[t] = score(head, first + t);
        const uint32_t magnitude = f32_bits(scores[t]) & 0x7fffffffu;
        worst = magnitude > worst ? magnitude : worst;
        max = scores[t] > max ? scores[t] : max;
    }
    *largest = max;
    return worst < 0x7f800000u;
}

// The sum of a page's weights: 16 lanes by token, added as a tree.
float sum_weights(const float *p, uint32_t n) {
    float lane[16] = {};
    for (uint32_t t = 0; t < n; t++) lane[t % 16] += p[t];
    for (uint32_t width = 8; width >= 4; width /= 2)
        for (uint32_t i = 0; i < width; i++) lane[i] += lane[i + width];
    return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

void add_values(const Head &head, uint64_t first, uint32_t n, const float *p, float *o) {
    const Cache::State &s = *head.call->state;
    float value[kTile];
    for (uint32_t t = 0; t < n; t++) {
        const uint8_t *row = s.v_row(*head.call->track, first + t, head.kv_head);
        for (uint32_t c = 0; c < head.n_columns; c += kTile) {
            const uint32_t left = head.n_columns - c, width = left < kTile ? left : kTile;
            s.v_type->decode(value, row, head.first_column + c, width);
            for (uint32_t j = 0; j < width; j++)
                o[c + j] = __builtin_fmaf(p[t], value[j], o[c + j]);
        }
    }
}

// One page into the sums of its chunk; false when a score is not finite.
bool add_page(const Head &head, uint64_t first, uint32_t n, Sums &sums) {
    float p[kPageTokens], largest;
    if (!page_scores(head, first, n, p, &largest)) return false;
    if (largest > sums.m + kSlack) {
        const float factor = exp_f32(sums.m - largest);
        sums.l *= factor;
        for (uint32_t j = 0; j < head.n_columns; j++) sums.o[j] *= factor;
        sums.m = largest;
    }
    for (uint32_t t = 0; t < n; t++) p[t] = exp_f32(p[t] - sums.m);
    sums.l += sum_weights(p, n);
    add_values(head, first, n, p, sums.o);
    return true;
}

void merge(Sums &total, const Sums &chunk, uint32_t n_columns) {
    const float m = total.m > chunk.m ? total.m : chunk.m;
    const float a = exp_f32(total.m - m), b = exp_f32(chunk.m - m);
    total.l = __builtin_fmaf(chunk.l, b, total.l * a);
    for (uint32_t j = 0; j < n_columns; j++)
        total.o[j] = __builtin_fmaf(chunk.o[j], b, total.o[j] * a);
    total.m = m;
}

// All visible tokens; false when a score is not finite.
bool add_all(const Head &head, Sums &total) {
    Sums chunk;
    clear(total, head.n_columns);
    for (uint64_t start = 0; start < head.n_visible; start += kChunkTokens) {
        const uint64_t left = head.n_visible - start;
        const uint64_t end = start + (left < kChunkTokens ? left : kChunkTokens);
        clear(chunk, head.n_columns);
        for (uint64_t first = start; first < end; first += kPageTokens) {
            const uint64_t n = end - first < kPageTokens ? end - first : kPageTokens;
            if (!add_page(head, first, static_cast<uint32_t>(n), chunk)) return false;
        }
        merge(total, chunk, head.n_columns);
    }
    return true;
}

void fill(float *out, uint32_t n, float value) {
    for (uint32_t j = 0; j < n; j++) out[j] = value;
}

// Tokens that a query sees: those whose position is at most its own. Positions do not descend.
uint64_t visible_tokens(const Call &call, size_t query) {
    const Cache::State &s = *call.state;
    const Track &track = *call.track;
    if (!call.causal) return track.n_tokens;
    const int32_t position = call.positions
                                 ? call.positions[query]
                                 : *s.positions(track, track.n_tokens - call.n_queries + query);
    uint64_t low = 0, high = track.n_tokens;
    while (low < high) {
        const uint64_t middle = low + (high - low) / 2;
        if (*s.positions(track, middle) <= position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool all_finite(const float *x, uint32_t n) {
    uint32_t largest = 0;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t magnitude = f32_bits(x[i]) & 0x7fffffffu;
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest < 0x7f800000u;
}

// One query head; false when its result is not a number.
bool attend_head(Head &head, float *out, float *lse) {
    const Config &c = head.call->state->config;
    if (!all_finite(head.q, c.head_dim_k)) return false;
    if (head.n_visible == 0) {
        fill(out, c.head_dim_v, 0.0f);
        *lse = -kInfinity;
        return true;
    }
    Sums total;
    for (uint32_t first = 0; first < c.head_dim_v; first += kColumns) {
        const uint32_t left = c.head_dim_v - first;
        head.first_column = first;
        head.n_columns = left < kColumns ? left : kColumns;
        if (!add_all(head, total)) return false;
        for (uint32_t j = 0; j < head.n_columns; j++)
            out[first + j] = canonical_nan(total.o[j] / total.l + 0.0f);
    }
    *lse = static_cast<float>(static_cast<double>(total.m) + log_f64(static_cast<double>(total.l)));
    return true;
}

void run_item(const Call &call, uint64_t item) {
    const Config &c = call.state->config;
    const uint32_t q_head = static_cast<uint32_t>(item % c.n_q_heads);
    Head head{};
    head.call = &call;
    head.q = call.q + static_cast<size_t>(item) * c.head_dim_k;
    head.kv_head = q_head / (c.n_q_heads / c.n_kv_heads);
    head.n_visible = visible_tokens(call, static_cast<size_t>(item / c.n_q_heads));
    float *out = call.out + static_cast<size_t>(item) * c.head_dim_v;
    float lse;
    if (!attend_head(head, out, &lse)) {
        lse = f32_from_bits(kCanonicalNan);
        fill(out, c.head_dim_v, lse);
    }
    if (call.lse) call.lse[static_cast<size_t>(item)] = lse;
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
    if (options.causal && !positions && n_queries > track.n_tokens)
        return set_failure(failure, Status::argument, {},
                           "%zu queries without positions: the sequence has %llu tokens", n_queries,
                           static_cast<unsigned long long>(track.n_tokens));
    if (!all_finite(&options.scale, 1))
        return set_failure(failure, Status::argument, {}, "the scale is NaN or infinite");
    Call call{};
    call.state = &s;
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
